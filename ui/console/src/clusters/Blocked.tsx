import { Alert, Checkbox, List } from '@mantine/core';
import type { ReactElement } from 'react';

import type { ResultOf } from '../api/gql.ts';
import { useT } from '../app/i18n.ts';
import type { Unjoin } from './membership.ts';

interface Props {
  by: NonNullable<NonNullable<ResultOf<typeof Unjoin>['unjoinCluster']>['blockedBy']>;
  /** force has the cluster go although objects are sent to it. */
  force: boolean;
  setForce: (force: boolean) => void;
}

/** Blocked lists what keeps a cluster in its instance, and asks whether that is to be removed from it. */
export function Blocked({ by, force, setForce }: Props): ReactElement {
  const t = useT();
  return (
    <Alert color="orange" variant="light" className="kairship-alert" title={t('cluster.blocked', { count: by.count })}>
      <List size="sm">
        {by.objects.map((o) => (
          <List.Item key={`${o.kind} ${o.namespace} ${o.name}`}>{[o.kind, [o.namespace, o.name].filter(Boolean).join('/')].join(' ')}</List.Item>
        ))}
      </List>
      <Checkbox mt="sm" label={t('cluster.leaveAnyway')} checked={force} onChange={(event) => setForce(event.currentTarget.checked)} />
    </Alert>
  );
}
