import type { ReactElement } from 'react';

import logo from './kairship.svg';

export function Logo({ size = 26 }: { size?: number }): ReactElement {
  return <img src={logo} alt="" width={size} height={size} />;
}
