import { z } from 'zod'
import type { MongoDBService } from '../../src/adapter/index.ts'
import type { Id } from '../../src/core/index.ts'
import type { Served, TObject } from '../../src/core/schema/index.ts'
import { DateSchema, Type } from '../../src/core/schema/index.ts'

// A schema that lets data through which the service says it does not take is a mistake in one of them.

interface Task {
  _id: string
  title: string
  state: 'open' | 'done'
  due: Date
  tags: string[]
  size: { width: number; height: number; unit: string }
  note?: string
}

interface TaskData {
  title: string
  state: 'open' | 'done'
  due: Date
  tags: string[]
  size: { width: number; height: number; unit: string }
  note?: string | null
}

class TaskService {
  async create(data: TaskData | TaskData[]): Promise<Task> {
    throw new Error(String(data))
  }
  async update(_id: Id, data: TaskData): Promise<Task> {
    return this.create(data)
  }
  async patch(_id: Id, _data: Partial<TaskData>): Promise<Task> {
    throw new Error('none')
  }
  async move(data: { to: number }): Promise<number> {
    return data.to
  }
}

/** Data as the service takes it, with fewer fields, more of them, or values of some of the types. */
const title = Type.String()
const fits = {
  same: Type.Object({ title, due: DateSchema(), state: Type.Literal('open') }),
  wider: Type.Object({ title: Type.Union([title, Type.Null()]), state: Type.String() }),
  other: Type.Object({ password: title, note: Type.Optional(title) }),
  inner: Type.Object({
    tags: Type.Array(Type.Union([title, Type.Null()])),
    size: Type.Object({ width: Type.Number(), depth: Type.Number() }),
  }),
  any: Type.Object({ title: Type.Any(), state: Type.Unknown(), due: Type.Unsafe<Date>({}) }),
  json: { type: 'object', properties: { title: { type: 'string' } } },
  zod: z.object({ title: z.string(), due: z.string().transform((text) => new Date(text)) }),
} as const

export interface Fits {
  same: Served<TaskService, { schemas: { create: typeof fits.same } }>
  wider: Served<TaskService, { schemas: { create: typeof fits.wider } }>
  other: Served<TaskService, { schemas: { create: typeof fits.other; patch: typeof fits.other } }>
  inner: Served<TaskService, { schemas: { create: typeof fits.inner; update: typeof fits.inner } }>
  any: Served<TaskService, { schemas: { create: typeof fits.any } }>
  json: Served<TaskService, { schemas: { create: typeof fits.json } }>
  zod: Served<TaskService, { schemas: { create: typeof fits.zod } }>
  all: Served<TaskService, { schemas: { create: true } }>
  unknown: Served<TaskService, { schemas: { create: object } }>
  open: Served<TaskService, { schemas: { create: TObject } }>
  none: Served<TaskService, { methods: ['create']; schemas: Record<never, never> }>
  move: Served<TaskService, { schemas: { methods: { move: { data: typeof clashes.number } } } }>
  mongo: Served<MongoDBService<Task, TaskData>, { schemas: { patch: typeof fits.same } }>
}

const clashes = {
  title: Type.Object({ title: Type.Number(), due: DateSchema() }),
  optional: Type.Object({ note: Type.Optional(Type.Boolean()) }),
  state: Type.Object({ state: Type.Union([Type.Literal('new'), Type.Literal('old')]) }),
  date: Type.Object({ due: Type.String({ format: 'date-time' }) }),
  tags: Type.Object({ tags: Type.String() }),
  items: Type.Object({ tags: Type.Array(Type.Number()) }),
  size: Type.Object({ size: Type.Object({ width: Type.String(), depth: Type.Number() }) }),
  json: { type: 'object', properties: { title: { type: 'number' } }, required: ['title'] },
  zod: z.object({ due: z.string() }),
  number: Type.Object({ to: Type.Number() }),
  text: Type.Object({ to: Type.String() }),
} as const

export interface Clashes {
  // @ts-expect-error a title is a string
  title: Served<TaskService, { schemas: { create: typeof clashes.title } }>
  // @ts-expect-error a title is a string
  patch: Served<TaskService, { schemas: { patch: typeof clashes.title } }>
  // @ts-expect-error a title is a string
  update: Served<TaskService, { schemas: { update: typeof clashes.title } }>
  // @ts-expect-error a note is a string
  optional: Served<TaskService, { schemas: { create: typeof clashes.optional } }>
  // @ts-expect-error no such states
  state: Served<TaskService, { schemas: { create: typeof clashes.state } }>
  // @ts-expect-error a date is no string
  date: Served<TaskService, { schemas: { create: typeof clashes.date } }>
  // @ts-expect-error tags are a list
  tags: Served<TaskService, { schemas: { create: typeof clashes.tags } }>
  // @ts-expect-error a list of strings
  items: Served<TaskService, { schemas: { create: typeof clashes.items } }>
  // @ts-expect-error a width is a number
  size: Served<TaskService, { schemas: { create: typeof clashes.size } }>
  // @ts-expect-error a title is a string
  json: Served<TaskService, { schemas: { create: typeof clashes.json } }>
  // @ts-expect-error what comes out of the check is no date
  zod: Served<TaskService, { schemas: { create: typeof clashes.zod } }>
  // @ts-expect-error `to` is a number
  move: Served<TaskService, { schemas: { methods: { move: { data: typeof clashes.text } } } }>
  // @ts-expect-error a title is a string
  mongo: Served<MongoDBService<Task, TaskData>, { schemas: { patch: typeof clashes.title } }>
  // @ts-expect-error a title is a string
  record: Served<MongoDBService<Task>, { schemas: { create: typeof clashes.title } }>
}
