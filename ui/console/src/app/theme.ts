import { createTheme, rem } from '@mantine/core';

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: 7, // White on a lighter one has too little contrast.
  autoContrast: true,
  colors: { dark: ['#c9ced8', '#b4bac6', '#8b93a1', '#646c7a', '#353b47', '#2a2f39', '#222731', '#1b1f27', '#15181e', '#101217'] },
  defaultRadius: 'md',
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", "Noto Sans Mono", monospace',
  fontSizes: { xs: rem(12), sm: rem(13), md: rem(14), lg: rem(16), xl: rem(20) },
  headings: { fontWeight: '600', sizes: { h1: { fontSize: rem(22), lineHeight: '1.3' }, h2: { fontSize: rem(16), lineHeight: '1.4' }, h3: { fontSize: rem(14), lineHeight: '1.4' } } },
});

/** nonce is what the content security policy lets style sheets of this page carry. */
export function nonce(): string {
  return document.querySelector('meta[name="csp-nonce"]')?.getAttribute('content') ?? '';
}
