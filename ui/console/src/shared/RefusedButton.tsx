import { Button, Tooltip } from '@mantine/core';
import type { ReactElement } from 'react';

/** RefusedButton stands for what a person may not do. The keyboard reaches it, and it says why. */
export function RefusedButton({ label, reason, size }: { label: string; reason: string; size?: string }): ReactElement {
  return (
    <Tooltip label={reason} events={{ hover: true, focus: true, touch: true }}>
      <Button variant="default" size={size} aria-disabled data-disabled onClick={(event) => event.preventDefault()}>
        {label}
      </Button>
    </Tooltip>
  );
}
