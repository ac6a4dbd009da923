import { startEmbeddedMongo } from '../../../../src/adapter/embedded/index.ts'

/** A process of the tests of the journal: starts a server in a folder, and tells its URL or its error. */
const [, , directory = ''] = process.argv
const answer = await startEmbeddedMongo({ directory }).then(
  ({ url }) => ({ url }),
  ({ message }: Error) => ({ message }),
)
process.send?.(answer)
// As long as its parent is there: the server does not keep it alive.
process.on('message', () => undefined)
