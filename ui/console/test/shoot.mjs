// Pictures of the pages, for looking at them: node test/shoot.mjs FOLDER
import { chromium } from 'playwright-core';
import { readFileSync, mkdirSync } from 'node:fs';

const base = process.env.KAIRSHIP_URL ?? 'http://127.0.0.1:8080';
const token = readFileSync(process.env.KAIRSHIP_TOKEN_FILE, 'utf8').trim();
const out = process.argv[2] ?? '/tmp';
mkdirSync(out, { recursive: true });
const pages = {
  fleet: '/',
  workloads: '/workloads',
  why: '/instances/alpha/workloads/DEPLOYMENT/shop/stuck',
  graph: '/instances/alpha/workloads/DEPLOYMENT/shop/frontend?tab=graph',
  pods: '/instances/alpha/workloads/DEPLOYMENT/shop/frontend?tab=pods',
  manifest: '/instances/alpha/workloads/DEPLOYMENT/shop/frontend?tab=manifest',
  timeline: '/instances/alpha/workloads/DEPLOYMENT/shop/frontend?tab=timeline',
  clusters: '/clusters',
};
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
for (const theme of ['light', 'dark']) {
  for (const [width, name] of [[1440, ''], [390, '-narrow']]) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme, locale: process.env.LOCALE ?? 'en' });
    await context.addInitScript((t) => sessionStorage.setItem('kairship.token', t), token);
    const page = await context.newPage();
    page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) console.log(theme, m.text()); });
    page.on('pageerror', (e) => console.log(theme, 'error', e.message));
    for (const [title, path] of Object.entries(pages)) {
      await page.goto(base + path);
      await page.waitForTimeout(1500);
      await page.screenshot({ path: `${out}/${title}-${theme}${name}.png` });
    }
    await context.close();
  }
}
await browser.close();
