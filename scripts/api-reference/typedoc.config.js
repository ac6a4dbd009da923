// How the API reference is made, and what counts as documented: `npm run docs:api`, `npm run check:api`.
import { readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)
const { exports: entries } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
const declarations = Object.values(entries).flatMap((entry) => entry.types ?? [])

/** @type {Partial<import('typedoc').TypeDocOptions>} */
export default {
  name: 'Remex',
  tsconfig: 'tsconfig.json',
  // A name belongs to the first entry that exports it: sorted, `core` comes before `transport`, which
  // exports it again.
  entryPoints: declarations
    .map((path) => path.replace(/^\.\/dist\/(.*)\.d\.ts$/, '../../src/$1.ts'))
    .sort(),
  out: '../../build-api',
  readme: 'none',
  // Links to the sources would need a remote of git, which not every checkout has.
  disableSources: true,
  excludePrivate: true,
  excludeInternal: true,
  // What is exported of another package is described there.
  excludeExternals: true,
  treatWarningsAsErrors: true,
  validation: {
    invalidLink: true,
    notDocumented: true,
    // Types that only others refer to stay inside: they are shown by name.
    notExported: false,
  },
  // Keys of object types that are written within a type; the docstring of the whole describes them.
  intentionallyNotDocumented: [
    'remex/auth.AuthenticationResult.authentication.__type.payload',
    'remex/auth.AuthenticationResult.authentication.__type.strategy',
  ],
}
