// Writes the types of the schema (docs/schema.graphql), which gql.tada reads queries with, to src/api/schema.d.ts.
// The file is made by each build, and git ignores it.
import { minifyIntrospection, outputIntrospectionFile } from '@gql.tada/internal';
import { buildSchema, introspectionFromSchema } from 'graphql';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const schema = buildSchema(readFileSync(path('../../../docs/schema.graphql'), 'utf8'));
const introspection = minifyIntrospection(introspectionFromSchema(schema, { descriptions: false }));
writeFileSync(path('../src/api/schema.d.ts'), outputIntrospectionFile(introspection, { fileType: '.d.ts', shouldPreprocess: true }));
