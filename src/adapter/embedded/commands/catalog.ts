import type { Document } from 'bson'
import { CommandError } from '../../matching/command-error.ts'
import { isEqual } from '../../matching/compare.ts'
import { compileFilter } from '../../matching/filter.ts'
import { withTimeLimit } from '../limits.ts'
import { refuse } from '../protocol/read-fields.ts'
import type { Collection } from '../storage/collection.ts'
import { whenUnlocked } from '../storage/collection.ts'
import type { CommandContext, Commands } from './command.ts'
import { readBatchSize, readName } from './command.ts'
import { readStatement } from './statement.ts'

/** Commands about databases and collections. */
export const CATALOG_COMMANDS: Commands = {
  create: {
    fields: {
      collation: 'object',
      ...refuse('capped', 'size', 'max', 'autoIndexId', 'idIndex', 'viewOn', 'pipeline'),
      ...refuse('validator', 'validationLevel', 'validationAction', 'timeseries'),
      ...refuse('expireAfterSeconds', 'clusteredIndex', 'changeStreamPreAndPostImages'),
      ...refuse('encryptedFields', 'storageEngine', 'indexOptionDefaults', 'flags', 'temp'),
    },
    run: (command, context) => whenUnlocked(() => create(command, context)),
  },
  drop: { fields: {}, run: (command, context) => whenUnlocked(() => drop(command, context)) },
  dropDatabase: { fields: {}, run: (_, context) => whenUnlocked(() => dropDatabase(context)) },
  listCollections: {
    // There is no authentication, so everything is authorized.
    fields: { filter: 'object', nameOnly: 'bool', cursor: 'object', authorizedCollections: 'bool' },
    run: listCollections,
  },
  listDatabases: {
    fields: { filter: 'object', nameOnly: 'bool', authorizedDatabases: 'bool' },
    run: listDatabases,
  },
}

function create(command: Document, context: CommandContext): Document {
  const { store, database } = context
  const name = readName(command, 'create', context)
  const { collation } = command
  const options = collation === undefined ? {} : { collation }
  const existing = store.find(database, name)
  if (existing === undefined) store.create(database, name, options)
  else if (!isEqual(existing.options, options)) {
    throw new CommandError(48, `Collection ${existing.namespace} already exists.`)
  }
  return { ok: 1 }
}

function drop(command: Document, context: CommandContext): Document {
  const { store, database } = context
  const name = readName(command, 'drop', context)
  store.drop(database, name)
  return { ns: `${database}.${name}`, ok: 1 }
}

function dropDatabase({ store, database }: CommandContext): Document {
  const collections = store.databases.get(database)
  for (const collection of collections?.values() ?? []) collection.checkUnlocked()
  for (const name of [...(collections?.keys() ?? [])]) store.drop(database, name)
  return { ...(collections === undefined ? {} : { dropped: database }), ok: 1 }
}

function listCollections(command: Document, context: CommandContext): Document {
  const { store, database, cursors } = context
  const batchSize = readBatchSize(command)
  const { collection } = store.read(database, '$cmd.listCollections', undefined)
  const all = [...(store.databases.get(database) ?? [])].map(([name, { options, indexes }]) => ({
    name,
    type: 'collection',
    ...(command.nameOnly === true
      ? {}
      : { options, info: { readOnly: false }, idIndex: indexes.get('_id_') }),
  }))
  const found = filterList(all, command, collection)
  return cursors.open(collection.namespace, found, { batchSize, context })
}

function listDatabases(command: Document, { store }: CommandContext): Document {
  const { collection } = store.read('admin', '$cmd.listDatabases', undefined)
  const all = [...store.databases.keys()].map((name) => ({ name, sizeOnDisk: 0, empty: false }))
  const databases = filterList(all, command, collection)
  return command.nameOnly === true
    ? { databases: databases.map(({ name }) => ({ name })), ok: 1 }
    : { databases, totalSize: 0, ok: 1 }
}

function filterList(all: Document[], command: Document, collection: Collection): Document[] {
  return withTimeLimit(command, command.maxTimeMS, () =>
    all.filter(compileFilter(command.filter ?? {}, readStatement({}, collection, undefined, {}))),
  )
}
