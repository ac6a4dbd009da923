import type { Document } from 'mongodb'
import type { NewRecord } from '../../src/adapter/hookless-methods.ts'
import type {
  MongoDBOptions,
  MongoDBParams,
  MongoDBService,
  Paging,
  PatchData,
} from '../../src/adapter/index.ts'
import { MongoDBService as Service } from '../../src/adapter/index.ts'
import type { RecordQuery } from '../../src/core/index.ts'

/** A service of which only the options say whether it has pages. */
export type AnyPaging<T extends Document> = MongoDBService<
  T,
  NewRecord<T>,
  MongoDBParams<RecordQuery<T>>,
  PatchData<NewRecord<T>>,
  Paging
>

/** Makes a service whose options differ from test to test. */
export function createAnyPaging<T extends Document>(options: MongoDBOptions): AnyPaging<T> {
  return new Service<
    T,
    NewRecord<T>,
    MongoDBParams<RecordQuery<T>>,
    PatchData<NewRecord<T>>,
    Paging
  >(options)
}
