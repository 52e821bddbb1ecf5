import type { ReactElement, ReactNode } from 'react';

/** Facts are names with their values. */
export function Facts({ of }: { of: readonly (readonly [string, ReactNode])[] }): ReactElement {
  return (
    <dl className="kairship-facts">
      {of.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
