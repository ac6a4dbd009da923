import { readFileSync } from 'node:fs'
import t from 'tap'

/** The first versions without a fault that was published for an earlier one. */
const LEAST_VERSIONS = {
  fastify: '5.12.8',
  'fast-jwt': '6.3.6',
  qs: '6.15.3',
  'find-my-way': '9.10.0',
  'fast-uri': '4.1.1',
}

t.test('FST-19: dependencies and Node are no older than the faults that are known', async (t) => {
  const file = new URL('../../package-lock.json', import.meta.url)
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as {
    packages: Record<string, { version?: string }>
  }
  for (const [name, least] of Object.entries(LEAST_VERSIONS)) {
    const version = packages[`node_modules/${name}`]?.version ?? 'none'
    t.ok(isAtLeast(version, least), `${name} ${version}, at least ${least}`)
  }
  t.ok(isAtLeast(process.versions.node, '20.19.0'), `Node ${process.versions.node}`)
})

function isAtLeast(version: string, least: string): boolean {
  return version.localeCompare(least, 'en', { numeric: true }) >= 0
}
