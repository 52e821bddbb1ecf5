// A session in a container over a WebSocket, as Kubernetes' API servers speak it: the first byte of a message is its channel.
import { token } from '../api/session.ts';

const stdin = 0;
const stdout = 1;
const stderr = 2;
const status = 3;
const resize = 4;

/** Container is what a session runs in. */
export interface Container {
  instance: string;
  clusterName: string;
  namespace: string;
  pod: string;
  container: string;
}

interface Listener {
  opened: () => void;
  output: (bytes: Uint8Array) => void;
  /** ended is called once. wasOpen reports whether there was a session; message is why it ended: null for a command that succeeded, empty where nothing is known. */
  ended: (wasOpen: boolean, message: string | null) => void;
}

export interface Session {
  send: (text: string) => void;
  resize: (columns: number, rows: number) => void;
  close: () => void;
}

/** pathOf is where the instance's native API runs a command in a container of a member cluster. */
export function pathOf(of: Container, command: string[]): string {
  const part = encodeURIComponent;
  const query = new URLSearchParams([
    ['container', of.container],
    ...command.map((word): [string, string] => ['command', word]),
    ['stdin', 'true'],
    ['stdout', 'true'],
    ['tty', 'true'],
  ]);
  return (
    `/instances/${part(of.instance)}/proxy/apis/cluster.karmada.io/v1alpha1/clusters/${part(of.clusterName)}/proxy` +
    `/api/v1/namespaces/${part(of.namespace)}/pods/${part(of.pod)}/exec?${query.toString()}`
  );
}

/** protocols are those of the session. A WebSocket has no headers: a token that was pasted is one of them. */
export function protocols(pasted: string | null): string[] {
  const spoken = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
  if (pasted === null) return spoken;
  const encoded = btoa(pasted).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return [...spoken, `base64url.bearer.authorization.k8s.io.${encoded}`];
}

/** failure is what the last message of a session says went wrong; null where nothing did. */
export function failure(text: string): string | null {
  const said = JSON.parse(text) as { status?: string; message?: string };
  return said.status === 'Success' ? null : (said.message ?? text);
}

/** begin runs a command in a container, with a terminal. */
export function begin(of: Container, command: string[], listener: Listener): Session {
  const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${pathOf(of, command)}`, protocols(token()));
  socket.binaryType = 'arraybuffer';
  let wasOpen = false;
  let message: string | null = ''; // Nothing is said of an end that is none of the command's.
  socket.onopen = () => {
    wasOpen = true;
    listener.opened();
  };
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
    const bytes = new Uint8Array(data);
    const rest = bytes.subarray(1);
    if (bytes[0] === stdout || bytes[0] === stderr) listener.output(rest);
    else if (bytes[0] === status) message = failure(new TextDecoder().decode(rest));
  };
  socket.onclose = () => listener.ended(wasOpen, message);
  const send = (channel: number, text: string): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const body = new TextEncoder().encode(text);
    const framed = new Uint8Array(body.length + 1);
    framed[0] = channel;
    framed.set(body, 1);
    socket.send(framed);
  };
  return {
    send: (text) => send(stdin, text),
    resize: (columns, rows) => send(resize, JSON.stringify({ Width: columns, Height: rows })),
    close: () => {
      socket.onclose = null;
      socket.close();
    },
  };
}
