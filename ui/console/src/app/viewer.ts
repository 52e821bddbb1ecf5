import { createContext, useContext } from 'react';

/** Viewer is who is signed in. */
export interface Viewer {
  username: string;
  seesAllInstances: boolean;
}

export const ViewerContext = createContext<(Viewer & { signedOut: () => void }) | null>(null);

export function useViewer(): Viewer & { signedOut: () => void } {
  const viewer = useContext(ViewerContext);
  if (viewer === null) throw new Error('this is for pages of who is signed in');
  return viewer;
}
