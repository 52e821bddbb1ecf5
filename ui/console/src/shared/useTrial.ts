import { useEffect, useState } from 'react';
import { CombinedError, useClient, type TypedDocumentNode } from 'urql';

/** Trial is a mutation that is tried in a dry run before it is done. */
export interface Trial<Payload> {
  /** automatic has it tried without a button. */
  automatic: boolean;
  /** tried is what the dry run of the present input answered; undefined before, and after the input was changed. */
  tried: Payload | undefined;
  /** begun is what the mutation answered when it was done. */
  begun: Payload | undefined;
  /** operation is what to follow afterwards. */
  operation: string | undefined;
  /** errors are those of the fields, by their names in the input. */
  errors: Readonly<Record<string, string>>;
  /** refused is what else is wrong. */
  refused: CombinedError | undefined;
  busy: boolean;
  /** send tries the present input, or does what was tried. */
  send: () => Promise<void>;
  close: () => void;
  done: () => void;
}

interface Options<Input, Payload> {
  /** fields are those of the input that a person fills in: errors about them are shown there. */
  fields?: readonly (keyof Input & string)[];
  automatic?: boolean;
  /** confirmed is what the input has besides when it is no dry run. */
  confirmed?: (tried: Payload) => Partial<Input>;
  close: () => void;
  done: () => void;
}

type PayloadOf<Data> = NonNullable<Data[keyof Data]>;

/** useTrial tries a mutation, does it, and says which operation to follow. A mutation without an operation closes the dialog. */
export function useTrial<Data extends object, Input extends { dryRun?: boolean | null | undefined }>(
  mutation: TypedDocumentNode<Data, { input: Input }>,
  input: NoInfer<Input>,
  { fields = [], automatic = false, confirmed, close, done }: Options<NoInfer<Input>, PayloadOf<NoInfer<Data>>>,
): Trial<PayloadOf<Data>> {
  type Payload = PayloadOf<Data>;
  const client = useClient();
  const of = JSON.stringify(input);
  const [tried, setTried] = useState<{ of: string; payload: Payload }>();
  const [begun, setBegun] = useState<Payload>();
  const [refused, setRefused] = useState<{ of: string; error: CombinedError }>();
  const [again, setAgain] = useState(0);
  const [busy, setBusy] = useState(false);
  const current = tried?.of === of ? tried.payload : undefined;

  const ask = async (besides: Partial<Input>): Promise<{ payload?: Payload; error?: CombinedError }> => {
    const { data, error } = await client.mutation(mutation, { input: { ...input, ...besides } }).toPromise();
    if (error) return { error };
    const payload = Object.values(data ?? {})[0] as Payload | null | undefined;
    return payload ? { payload } : {};
  };
  const keep = ({ payload, error }: { payload?: Payload; error?: CombinedError }): void => {
    setTried(payload && { of, payload });
    if (error) setRefused({ of, error });
  };
  useEffect(() => {
    if (!automatic) return undefined;
    let latest = true;
    void ask({ dryRun: true } as Partial<Input>).then((answer) => latest && keep(answer));
    return () => {
      latest = false;
    };
    // The input is in `of`.
  }, [automatic, of, again]);

  const send = async (): Promise<void> => {
    setBusy(true);
    setRefused(undefined);
    if (current === undefined) {
      keep(await ask({ dryRun: true } as Partial<Input>));
      setBusy(false);
      return;
    }
    const { payload, error } = await ask(confirmed?.(current) ?? {});
    setBusy(false);
    if (error) {
      setRefused({ of, error });
      setTried(undefined);
      setAgain((n) => n + 1); // It would do something else by now.
      return;
    }
    done();
    setBegun(payload);
    if (operationOf(payload) === undefined) close();
  };
  const wrong = split(refused?.of === of ? refused.error : undefined, fields);
  return { automatic, tried: current, begun, operation: operationOf(begun), ...wrong, busy, send, close, done };
}

function operationOf(payload: object | undefined): string | undefined {
  return (payload as { operation?: string | null } | undefined)?.operation ?? undefined;
}

/** split returns the errors about fields, and apart from them all others. */
function split(error: CombinedError | undefined, fields: readonly string[]): { errors: Record<string, string>; refused: CombinedError | undefined } {
  const errors: Record<string, string> = {};
  const others = error?.graphQLErrors.filter(({ message, extensions }) => {
    const field = /^input\.(\w+)/.exec(String(extensions['argument']))?.[1];
    if (field === undefined || !fields.includes(field)) return true;
    errors[field] ??= message;
    return false;
  });
  if (error === undefined || others === undefined || Object.keys(errors).length === 0) return { errors, refused: error };
  return { errors, refused: others.length > 0 ? new CombinedError({ graphQLErrors: others }) : undefined };
}
