import type { Collection, ObjectId } from 'mongodb'
import { computed, ref } from 'vue'
import { MongoDBService } from '../../src/adapter/index.ts'
import { createClient, rest } from '../../src/client/index.ts'
import type { LiveState } from '../../src/client/react/index.ts'
import { useLive } from '../../src/client/react/index.ts'
import { realtime } from '../../src/client/realtime/index.ts'
import type { LiveRefs } from '../../src/client/vue/index.ts'
import { useLive as useLiveRefs } from '../../src/client/vue/index.ts'
import type { Page, Params } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import { expectType } from './expect-type.ts'

interface Task {
  _id: ObjectId
  text: string
  due: Date
}

interface SentTask {
  _id: string
  text: string
  due: string
}

declare const Model: Collection<Task>
const paged = new MongoDBService({ Model, paginate: { default: 10 } })
const listed = new MongoDBService({ Model })

class NewsService {
  async find(_params?: Params<{ topic?: string }>): Promise<{ id: number }[]> {
    return []
  }
}

interface Services {
  paged: typeof paged
  listed: typeof listed
  news: NewsService
  'teams/:teamId/tasks': typeof listed
}

const client = createClient<Services>().configure(realtime())
declare const team: string | undefined
declare const signedIn: typeof client | undefined

// React
const { data, total, loading, error } = useLive(client.service('paged'), { query: { text: 'a' } })
expectType<readonly SentTask[]>()(data)
expectType<number | undefined>()(total)
expectType<boolean>()(loading)
expectType<Error | undefined>()(error)
expectType<LiveState<Page<SentTask>>>()(useLive(client.service('paged')))
expectType<LiveState<SentTask[]>>()(useLive(client.service('listed'), {}))
expectType<readonly { id: number }[]>()(useLive(client.service('news')).data)
useLive(client.service('paged'), { query: { due: { $gt: new Date() }, $sort: { due: 1 } } })
useLive(client.service('teams/:teamId/tasks'), { route: { teamId: '1' } })
// @ts-expect-error no such field
useLive(client.service('paged'), { query: { txt: 'a' } })
// @ts-expect-error no such param
useLive(client.service('paged'), { paginate: false })
// @ts-expect-error the query ends with the component
useLive(client.service('paged'), { signal: new AbortController().signal })
// @ts-expect-error params are missing
useLive(client.service('teams/:teamId/tasks'))
// @ts-expect-error it is the list's own
data.push({})

// Paused
const paused = useLive(
  client.service('paged'),
  team === undefined ? null : { query: { _id: team } },
)
expectType<LiveState<Page<SentTask>>>()(paused)
useLive(client.service('teams/:teamId/tasks'), team ? { route: { teamId: team } } : undefined)
expectType<LiveState<Page<SentTask>>>()(useLive(signedIn?.service('paged')))

// Vue
const refs = useLiveRefs(client.service('paged'), { query: { text: 'a' } })
expectType<LiveRefs<Page<SentTask>>>()(refs)
expectType<readonly SentTask[]>()(refs.data.value)
expectType<number | undefined>()(refs.total.value)
expectType<boolean>()(refs.loading.value)
expectType<Error | undefined>()(refs.error.value)
expectType<readonly SentTask[]>()(useLiveRefs(client.service('listed')).data.value)
const text = ref('a')
expectType<typeof refs>()(
  useLiveRefs(client.service('paged'), () => ({ query: { text: text.value } })),
)
useLiveRefs(client.service('paged'), ref({ query: { text: 'a' } }))
useLiveRefs(
  client.service('paged'),
  computed(() => (team ? { query: { text: team } } : null)),
)
useLiveRefs(client.service('teams/:teamId/tasks'), () => ({ route: { teamId: text.value } }))
expectType<typeof refs>()(useLiveRefs(() => signedIn?.service('paged')))
// @ts-expect-error the field is a string
useLiveRefs(client.service('paged'), () => ({ query: { text: 1 } }))
// @ts-expect-error no such field
useLiveRefs(client.service('paged'), { query: { txt: 'a' } })
// @ts-expect-error params are missing
useLiveRefs(client.service('teams/:teamId/tasks'))
// @ts-expect-error a ref is read-only
refs.data.value = []

// Without types, and without createClient
expectType<readonly unknown[]>()(useLive(createClient().service('tasks'), { query: { a: 1 } }).data)
const untyped = createApp().configure(rest('/').fetch(fetch)).configure(realtime())
expectType<LiveState>()(useLive(untyped.service('tasks'), { query: { a: 1 } }))
expectType<LiveRefs<unknown>>()(useLiveRefs(untyped.service('tasks'), () => ({ query: { a: 1 } })))
