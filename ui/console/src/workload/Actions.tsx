import { Button, Menu, Tooltip } from '@mantine/core';
import { useState, type ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { ActionDialog } from './ActionDialog.tsx';
import { actionsOf, type Action } from './actions.ts';
import type { Workload } from './layout.ts';
import type { Key } from './key.ts';

/** Actions is the menu of what a person may do with the workload. What they may not is not offered, and it says why. */
export function Actions({ of, workload, done }: { of: Key; workload: Workload; done: () => void }): ReactElement | null {
  const t = useT();
  const [open, setOpen] = useState<Action>();
  const may = (action: Action): boolean => (action === 'delete' ? workload.viewerCan.delete : workload.viewerCan.update);
  const all = actionsOf(workload);
  if (all.length === 0) return null;
  if (!all.some(may)) {
    return (
      <Tooltip label={t('action.notAllowed')}>
        <Button variant="default" data-disabled aria-disabled onClick={(event) => event.preventDefault()}>
          {t('action.more')}
        </Button>
      </Tooltip>
    );
  }
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default">{t('action.more')}</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {all.map((action) => (
            <Menu.Item key={action} disabled={!may(action)} className={action === 'delete' ? 'kairship-danger' : ''} onClick={() => setOpen(action)}>
              {t(`action.${action}`)}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {open && <ActionDialog action={open} of={of} workload={workload} close={() => setOpen(undefined)} done={done} />}
    </>
  );
}
