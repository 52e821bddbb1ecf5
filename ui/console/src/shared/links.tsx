import { Anchor, Button, NavLink, type AnchorProps, type ButtonProps, type NavLinkProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, ReactElement, Ref } from 'react';

type Html = AnchorHTMLAttributes<HTMLAnchorElement> & { ref?: Ref<HTMLAnchorElement> };

/** The components of the library, as links of the router: an address that does not exist fails the build. */
export const AnchorLink = createLink((props: AnchorProps & Html): ReactElement => <Anchor {...props} />);
export const ButtonLink = createLink((props: ButtonProps & Html): ReactElement => <Button component="a" {...props} />);
export const NavigationLink = createLink((props: NavLinkProps & Html): ReactElement => <NavLink {...props} />);
