import { Text } from '@mantine/core';
import type { ReactElement } from 'react';

/** Figure is a count with its meaning; grave ones stand out when they are not zero. */
export interface Figure {
  label: string;
  count: number;
  grave?: boolean;
}

/** Figures are the counts of a preview. */
export function Figures({ of }: { of: readonly Figure[] }): ReactElement {
  return (
    <dl className="kairship-figures">
      {of.map(({ label, count, grave }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd className={count > 0 && grave ? 'kairship-danger' : count === 0 ? 'kairship-dimmed' : ''}>{count}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Assumptions are what a preview takes for granted. */
export function Assumptions({ title, of }: { title: string; of: readonly string[] }): ReactElement | null {
  if (of.length === 0) return null;
  return (
    <details className="kairship-assumptions">
      <summary>
        {title} ({of.length})
      </summary>
      <ul>
        {of.map((text) => (
          <li key={text}>
            <Text size="xs">{text}</Text>
          </li>
        ))}
      </ul>
    </details>
  );
}
