import { Stack, Text } from '@mantine/core';
import type { ReactElement, ReactNode } from 'react';

/** Empty shows that there is nothing, and what to do next. */
export function Empty({ title, hint, children }: { title: string; hint?: string; children?: ReactNode }): ReactElement {
  return (
    <Stack align="center" gap={4} py="xl">
      <Text fw={600}>{title}</Text>
      {hint && (
        <Text size="sm" className="kairship-dimmed">
          {hint}
        </Text>
      )}
      {children}
    </Stack>
  );
}
