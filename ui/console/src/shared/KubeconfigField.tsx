import { Textarea } from '@mantine/core';
import type { ReactElement } from 'react';

interface Props {
  description: string;
  value: string;
  onChange: (value: string) => void;
  error?: string | undefined;
}

/** KubeconfigField takes credentials, which browsers are not to keep or to check for spelling. */
export function KubeconfigField({ description, value, onChange, error }: Props): ReactElement {
  return (
    <Textarea
      label="kubeconfig"
      description={description}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      autosize
      minRows={5}
      maxRows={14}
      spellCheck={false}
      autoComplete="off"
      classNames={{ input: 'kairship-mono' }}
      required
    />
  );
}
