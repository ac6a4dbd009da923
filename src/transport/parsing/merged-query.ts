import { BodyTooComplex } from '../../core/errors/coded-errors.ts'
import type { BadRequest, Query } from '../../core/index.ts'
import { EMPTY_LIST } from './nested-query.ts'
import type { NameLimits, QueryNoun } from './parameters.ts'
import { createDepthRefusal, createRefusal, readParameters, splitName } from './parameters.ts'

/** The limits that affect the result of parsing, and whether a list that is too long becomes an object or an error. */
interface MergeLimits extends NameLimits {
  readonly arrayLimit: number
}

const NUMBER = /^(?:0|[1-9]\d{0,14})$/

type Value = string | Branch
type Branch = Named | Value[]
interface Named {
  [key: string]: Value
}

/**
 * Parses any query, with the same result as qs. Each name becomes a branch, `a[b]=1` the branch `{ a: { b: '1' } }`,
 * which is merged into the branches before it.
 * @throws {BadRequest} a parameter would be lost or ambiguous, nests too deeply, or has too many values in a body
 */
export function parseMergedQuery(raw: string, limits: MergeLimits): Query {
  const query: Named = {}
  const merger = new BranchMerger(limits)
  for (const [name, values] of Object.entries(readParameters(raw, limits))) {
    const [value = ''] = values
    merger.merge(query, name, values.length === 1 ? value : merger.limit(values))
  }
  finish(query, limits.noun)
  return query
}

/** Closes gaps in lists, and replaces the objects that represent empty lists. */
function finish(query: Named, noun: QueryNoun): void {
  const parents: Branch[] = [query]
  // Without recursion, since `depth` may be any number.
  for (const parent of parents as Named[]) {
    for (const [name, value] of Object.entries(parent)) {
      if (typeof value === 'string') continue
      const isList = Array.isArray(value)
      // With other names next to it, it stays an ordinary name, which adapters and schemas reject.
      const isEmpty = !isList && value[EMPTY_LIST] === '' && Object.keys(value).length === 1
      const finished = isList ? Object.values(value) : isEmpty && noun === 'query' ? [] : value
      parent[name] = finished
      parents.push(finished)
    }
  }
}

/** Merges branches by the rules of qs. Until a query is finished, its arrays have gaps, as in `a[7]=x`. */
class BranchMerger {
  readonly #limits: MergeLimits
  /** Objects to which values without a key are added, and arrays that become such objects. */
  readonly #open = new Set<Branch>()

  constructor(limits: MergeLimits) {
    this.#limits = limits
  }

  /** Returns a list, as an object if it has too many items. */
  limit(list: Value[]): Branch {
    const { arrayLimit } = this.#limits
    const isLong = list.length > arrayLimit && Object.keys(list).length > arrayLimit
    return isLong ? this.#toLongList(list) : list
  }

  /** Adds a parameter to a query. */
  merge(query: Named, name: string, leaf: Value): void {
    const left: [parent: Named, added: Branch][] = [[query, this.#toBranch(name, leaf)]]
    for (const [parent, added] of left) {
      for (const [key, value] of Object.entries(added)) {
        const known = parent[key]
        if (known === undefined) parent[key] = value
        else if (typeof value === 'string') parent[key] = this.#append(known, value, name)
        else if (typeof known === 'string') parent[key] = this.#prepend(known, value)
        else if (Array.isArray(known) && Array.isArray(value)) {
          for (const [index, item] of Object.entries(value)) {
            const there = known[Number(index)]
            if (there === undefined) known[Number(index)] = item
            else if (typeof there === 'string' || typeof item === 'string') known.push(item)
            else left.push([known as unknown as Named, value])
          }
          parent[key] = this.limit(known)
        } else {
          const object = this.#toObject(known)
          if (this.#open.has(value)) this.#open.add(object)
          parent[key] = object
          left.push([object, value])
        }
      }
    }
  }

  #toBranch(name: string, leaf: Value): Branch {
    const { arrayLimit, depth, noun } = this.#limits
    const segments = splitName(name)
    if (segments.length - (name.startsWith('[') ? 0 : 1) > depth) {
      throw createDepthRefusal(noun, depth)
    }
    let branch = leaf
    for (const segment of segments.reverse()) {
      if (typeof segment === 'string') branch = { [segment]: branch }
      else if (segment === null) {
        const isOpen = typeof branch === 'object' && this.#open.has(branch)
        if (!isOpen) branch = this.limit(([] as Value[]).concat(branch))
      } else if (segment < arrayLimit) {
        const list: Value[] = []
        list[segment] = branch
        branch = list
      } else {
        this.#checkLength()
        branch = { [segment]: branch }
        this.#open.add(branch)
      }
    }
    return branch as Branch
  }

  #append(known: Value, value: string, name: string): Value {
    // qs drops an empty value here: a condition would be lost.
    if (value === '') throw this.#createConflict(name)
    if (typeof known === 'string') return this.limit([known, value])
    if (Array.isArray(known)) {
      known.push(value)
      return this.limit(known)
    }
    if (!this.#open.has(known)) {
      const pair = [known, value]
      this.#open.add(pair)
      return this.limit(pair)
    }
    const indexes = Object.keys(known).filter((key) => NUMBER.test(key))
    const index = 1 + indexes.reduce((last, key) => Math.max(last, Number(key)), -1)
    if (index >= this.#limits.arrayLimit) this.#checkLength()
    if (known[index] !== undefined) throw this.#createConflict(name)
    known[index] = value
    return known
  }

  #prepend(known: string, value: Branch): Branch {
    let list: Value[] = [known]
    const isOpen = this.#open.has(value)
    if (!isOpen) list = list.concat(value)
    else for (const [index, item] of Object.entries(value)) list[Number(index) + 1] = item
    // Gaps count here, as in qs.
    return isOpen || list.length > this.#limits.arrayLimit ? this.#toLongList(list) : list
  }

  #toLongList(list: Value[]): Named {
    this.#checkLength()
    this.#open.add(list)
    return this.#toObject(list)
  }

  /** Rejects a long list in a body, since nothing would convert it back to a list. */
  #checkLength(): void {
    const { arrayLimit, noun } = this.#limits
    if (noun === 'query') return
    throw new BodyTooComplex(`The ${noun} has a list of more than ${arrayLimit} items`)
  }

  #createConflict(name: string): BadRequest {
    return createRefusal(this.#limits.noun, name, 'contradicts another one')
  }

  #toObject(branch: Branch): Named {
    if (!Array.isArray(branch)) return branch
    const object: Named = { ...(branch as unknown as Named) }
    if (this.#open.has(branch)) this.#open.add(object)
    return object
  }
}
