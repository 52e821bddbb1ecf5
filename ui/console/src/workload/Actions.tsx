import { Button, Menu } from '@mantine/core';
import { useState, type ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { RefusedButton } from '../shared/RefusedButton.tsx';
import { ActionDialog } from './ActionDialog.tsx';
import { actionsOf, type Action } from './actions.ts';
import type { Workload } from './layout.ts';
import type { Key } from './key.ts';
import { MoveDialog } from './MoveDialog.tsx';

/** Actions is the menu of what a person may do with the workload. What they may not is not offered, and it says why. */
export function Actions({ of, workload, done }: { of: Key; workload: Workload; done: () => void }): ReactElement | null {
  const t = useT();
  const [open, setOpen] = useState<Action>();
  const [moves, setMoves] = useState(false);
  const may = (action: Action): boolean => (action === 'delete' ? workload.viewerCan.delete : workload.viewerCan.update);
  const all = actionsOf(workload);
  const mayMove = workload.viewerCan.update && workload.policy?.viewerCan.update === true;
  if (all.length === 0) return null;
  if (!all.some(may)) return <RefusedButton label={t('action.more')} reason={t('action.notAllowed')} />;
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
          {workload.policy && (
            <Menu.Item disabled={!mayMove} {...(!mayMove && { title: t('action.notAllowed') })} onClick={() => setMoves(true)}>
              {t('action.move')}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {open && <ActionDialog action={open} of={of} workload={workload} close={() => setOpen(undefined)} done={done} />}
      {moves && <MoveDialog of={of} close={() => setMoves(false)} done={done} />}
    </>
  );
}
