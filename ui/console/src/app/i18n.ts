import i18next, { type TFunction } from 'i18next';
import { useSyncExternalStore } from 'react';

import { en } from '../locales/en.ts';

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
  lng: 'en',
  fallbackLng: 'en',
  resources: { en: { translation: en } },
  interpolation: { escapeValue: false }, // React escapes.
});

/** change changes the language, once its texts are there. Without them it stays. */
async function change(language: Language): Promise<void> {
  if (language === 'zh' && !i18next.hasResourceBundle('zh', 'translation')) i18next.addResourceBundle('zh', 'translation', (await import('../locales/zh.ts')).zh);
  document.documentElement.lang = language;
  await i18next.changeLanguage(language);
}

/** spoken resolves when the language is that of the visitor, as far as its texts can be had. */
export const spoken: Promise<void> = change(initial()).catch(() => undefined);

export function setLanguage(language: Language): void {
  localStorage.setItem(storageKey, language);
  void change(language);
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
