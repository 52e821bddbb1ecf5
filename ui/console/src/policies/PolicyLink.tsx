import type { ReactElement } from 'react';

import { AnchorLink } from '../shared/links.tsx';
import { noNamespace } from './kinds.ts';

interface Props {
  instance: string;
  namespace: string | null;
  name: string;
  /** edit leads to the editor. */
  edit?: boolean;
  /** label makes the text of the policy's name. */
  label?: (name: string) => string;
}

/** PolicyLink leads to a propagation policy, which governs the whole instance where it has no namespace. */
export function PolicyLink({ instance, namespace, name, edit = false, label = (text) => text }: Props): ReactElement {
  return (
    <AnchorLink
      to="/instances/$instance/policies/$kind/$namespace/$name"
      params={{ instance, kind: namespace === null ? 'CLUSTER_PROPAGATION_POLICY' : 'PROPAGATION_POLICY', namespace: namespace ?? noNamespace, name }}
      search={edit ? { tab: 'edit' } : {}}
      size="sm"
    >
      {label([namespace, name].filter(Boolean).join('/'))}
    </AnchorLink>
  );
}
