import { Select, TextInput } from '@mantine/core';
import type { ReactElement } from 'react';

import { useT } from '../app/i18n.ts';

interface Props {
  /** versions are the only ones that can be installed; undefined for any. */
  versions: string[] | undefined;
  hint?: string;
  required?: boolean;
  value: string;
  onChange: (version: string) => void;
  error?: string | undefined;
}

/** VersionField asks for a version of Karmada. */
export function VersionField({ versions, hint, required, value, onChange, error }: Props): ReactElement {
  const t = useT();
  if (versions === undefined) {
    return (
      <TextInput
        label={t('fleet.version')}
        description={hint}
        placeholder="v1.18.2"
        required={required ?? false}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={error}
      />
    );
  }
  return (
    <Select
      label={t('fleet.version')}
      description={hint}
      data={versions}
      value={value || null}
      required={required ?? false}
      allowDeselect={!required}
      clearable={!required}
      onChange={(version) => onChange(version ?? '')}
      error={error}
    />
  );
}
