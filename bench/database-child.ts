import { startEmbeddedMongo } from 'remex/embedded'

// Runs the embedded server in a process of its own, until the parent is gone.

process.on('disconnect', () => process.exit())
const { url } = await startEmbeddedMongo({})
process.send?.({ url })
