// Every .graphql file of this folder is a ready-made operation: its first comment
// line is the title, the lines after it say what it does.
const files = import.meta.glob<string>('./*.graphql', { query: '?raw', import: 'default', eager: true });

export interface ReadyMade {
  file: string;
  title: string;
  about: string;
  text: string;
  isMutation: boolean;
}

function parse(file: string, text: string): ReadyMade {
  const comments: string[] = [];
  for (const line of text.split('\n')) {
    if (!line.startsWith('#')) break;
    comments.push(line.replace(/^#\s?/, ''));
  }
  const [title = file, ...about] = comments;
  return { file, title, about: about.join(' '), text, isMutation: /^mutation\b/m.test(text) };
}

// File names begin with a number that gives the order.
export const readyMade = Object.entries(files)
  .sort(([a], [b]) => a.localeCompare(b))
  .map(([file, text]) => parse(file, text));
