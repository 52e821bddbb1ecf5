import i18next, { type TFunction } from 'i18next';
import { useSyncExternalStore } from 'react';

import { en } from '../locales/en.ts';
import { zh } from '../locales/zh.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    resources: { translation: typeof en };
  }
}

export const languages = { en: 'English', zh: '简体中文' } as const;
export type Language = keyof typeof languages;

const storageKey = 'kairship.language';

function initial(): Language {
  const stored = localStorage.getItem(storageKey);
  if (stored === 'en' || stored === 'zh') return stored;
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

void i18next.init({
  lng: initial(),
  fallbackLng: 'en',
  resources: { en: { translation: en }, zh: { translation: zh } },
  interpolation: { escapeValue: false }, // React escapes.
});
document.documentElement.lang = i18next.language;

export function setLanguage(language: Language): void {
  localStorage.setItem(storageKey, language);
  document.documentElement.lang = language;
  void i18next.changeLanguage(language);
}

const subscribe = (listener: () => void): (() => void) => {
  i18next.on('languageChanged', listener);
  return () => i18next.off('languageChanged', listener);
};

export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, () => i18next.language as Language);
}

/** useT returns what translates, and renders again when the language changes. */
export function useT(): TFunction {
  return i18next.getFixedT(useLanguage());
}
