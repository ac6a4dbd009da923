import t from 'tap'
import type { Sources } from './support/source-imports.ts'
import { readSources, readStatements, resolvePath } from './support/source-imports.ts'

/** A feature: what is deleted with it, and the files that would not compile without it. */
interface Feature {
  /** Its folders, which end in a slash, and its files. */
  readonly rooms: readonly string[]
  /** The files elsewhere that name it, `index.ts` aside. Take one out of this list when it no longer does. */
  readonly namedIn: readonly string[]
}

const FEATURES: Readonly<Record<string, Feature>> = {
  realtime: {
    rooms: [
      ...['adapter/events/', 'adapter/realtime/', 'transport/realtime/'],
      ...['client/realtime/', 'client/react/', 'client/vue/'],
    ],
    namedIn: [],
  },
  streams: {
    rooms: ['adapter/streams/', 'core/services/record-stream.ts', 'transport/streams/'],
    namedIn: [],
  },
  versions: {
    rooms: ['adapter/versions/', 'client/versions/', 'core/versions/', 'transport/versions/'],
    namedIn: [],
  },
  pages: {
    rooms: ['adapter/pages/'],
    namedIn: [],
  },
  'record-hooks': { rooms: ['adapter/record-hooks/', 'adapter/webhooks/'], namedIn: [] },
  sessions: { rooms: ['auth/sessions/'], namedIn: [] },
  'api-keys': { rooms: ['auth/api-keys/'], namedIn: [] },
  accounts: { rooms: ['auth/accounts/'], namedIn: [] },
  oauth: { rooms: ['auth/oauth/'], namedIn: [] },
  openapi: { rooms: ['transport/openapi/'], namedIn: [] },
  observing: { rooms: ['transport/observing/'], namedIn: [] },
  jobs: { rooms: ['adapter/jobs/', 'adapter/webhooks/'], namedIn: [] },
  webhooks: { rooms: ['adapter/webhooks/'], namedIn: [] },
  files: {
    rooms: ['adapter/files/', 'client/files/', 'core/files/', 'transport/files/'],
    namedIn: [],
  },
  embedded: { rooms: ['adapter/embedded/'], namedIn: [] },
  socketio: { rooms: ['transport/socketio/'], namedIn: [] },
  react: { rooms: ['client/react/'], namedIn: [] },
  vue: { rooms: ['client/vue/'], namedIn: [] },
  cli: { rooms: ['cli/'], namedIn: [] },
}

/** Files that may name every feature: what a package exports, and what the kernel of a layer knows of features. */
const LISTS = /(?:^|\/)(?:index|[a-z]+-features|login-extensions)\.ts$/

/** Returns the files that would no longer compile without a feature. */
function findBroken(sources: Sources, rooms: readonly string[]): string[] {
  const isGone = (file: string): boolean =>
    rooms.some((room) => file === room || (room.endsWith('/') && file.startsWith(room)))
  const statements = Object.entries(sources)
    .filter(([file]) => !isGone(file))
    .flatMap(([file, source]) =>
      readStatements(source).map((one) => ({ ...one, file, to: resolvePath(file, one.specifier) })),
    )
  /** Names that an index can no longer hand on, by its path: `core/index.ts conditional`. */
  const lost = new Set<string>()
  for (let size = -1; size < lost.size; ) {
    size = lost.size
    for (const { file, to, isExport, names } of statements) {
      if (!isExport || to === undefined) continue
      for (const name of names) {
        if (isGone(to) || lost.has(`${to} ${name}`)) lost.add(`${file} ${name}`)
      }
    }
  }
  const broken = statements.filter(({ to, names }) => {
    if (to === undefined) return false
    return isGone(to) || names.some((name) => lost.has(`${to} ${name}`))
  })
  return [...new Set(broken.map(({ file }) => file))].filter((file) => !LISTS.test(file)).sort()
}

const sources = readSources('src')

for (const [name, { rooms, namedIn }] of Object.entries(FEATURES)) {
  t.test(`${name} can be deleted`, (t) => {
    for (const room of rooms) {
      const files = Object.keys(sources).filter((file) => file.startsWith(room))
      t.ok(files.length > 0, `${room} is there`)
    }
    t.strictSame(findBroken(sources, rooms), [...namedIn].sort())
    t.end()
  })
}

t.test('finds what names a feature, by an index too', (t) => {
  const files = {
    'core/feature/a.ts': 'export const a = 1; export type B = 2',
    'core/index.ts': "export { a, type B } from './feature/a.ts'\nexport { c } from './c.ts'",
    'core/c.ts': 'export const c = 1',
    'auth/index.ts': "export { a as other } from '../core/index.ts'",
    'auth/direct.ts': "import { a } from '../core/feature/a.ts'",
    'auth/typed.ts': "import type { B } from '../core/index.ts'",
    'auth/free.ts': "import { c } from '../core/index.ts'",
  }
  t.strictSame(findBroken(files, ['core/feature/']), ['auth/direct.ts', 'auth/typed.ts'])
  t.strictSame(findBroken(files, ['core/c.ts']), ['auth/free.ts'])
  t.end()
})
