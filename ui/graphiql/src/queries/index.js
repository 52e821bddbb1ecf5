// Every .graphql file of this folder is a ready-made query: its first comment
// line is the title, the lines after it say what it answers.
const files = import.meta.glob('./*.graphql', { query: '?raw', import: 'default', eager: true });

function parse(file, text) {
  const comments = [];
  for (const line of text.split('\n')) {
    if (!line.startsWith('#')) break;
    comments.push(line.replace(/^#\s?/, ''));
  }
  const [title = file, ...about] = comments;
  return { file, title, about: about.join(' '), text };
}

// File names begin with a number that gives the order.
export const queries = Object.keys(files)
  .sort()
  .map((file) => parse(file, files[file]));
