import t from 'tap'
import { Type } from '../../../src/core/schema/index.ts'
import { linkReferences } from '../../../src/core/schema/model/references.ts'
import { Components } from '../../../src/transport/openapi/components.ts'

const BASE = '#/components/schemas/'

t.test('names a schema by its $id, which it has no longer then', async (t) => {
  const components = new Components()
  const schema = {
    $id: 'User',
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
  }
  t.strictSame(components.refer('Users', schema), { $ref: `${BASE}User` })
  t.strictSame(components.refer('Others', { ...schema }), { $ref: `${BASE}User` }, 'the same once')
  t.strictSame(components.toJSON().schemas, { User: { type: 'object' } })
})

t.test('gives other schemas with a name that is taken another one', async (t) => {
  const components = new Components()
  const references = ['string', 'number', 'boolean', 'string'].map(
    (type) => components.refer('Users', { $id: 'User', type })['$ref'],
  )
  t.strictSame(
    references,
    ['User', 'Users', 'Users2', 'User'].map((name) => BASE + name),
  )
  t.strictSame(components.refer('Any', { $id: 'https://example.com/a', type: 'null' }), {
    $ref: `${BASE}Any`,
  })
})

t.test('leads references within a schema to where its parts are in the document', async (t) => {
  const components = new Components()
  const tree = {
    type: 'object',
    $defs: { leaf: { $id: 'Leaf', type: 'string' } },
    properties: {
      own: { $ref: '#' },
      leaf: { $ref: '#/$defs/leaf' },
      byId: { $ref: 'Leaf' },
    },
  }
  components.refer('Tree', linkReferences(tree))
  t.match(components.toJSON().schemas, {
    Tree: {
      properties: {
        own: { $ref: `${BASE}Tree` },
        leaf: { $ref: `${BASE}TreeLeaf` },
        byId: { $ref: `${BASE}TreeLeaf` },
      },
    },
    TreeLeaf: { type: 'string' },
  })
})

t.test('writes true and false as objects, which all generators read', async (t) => {
  const components = new Components()
  t.strictSame(components.inline('Any', true), {})
  t.strictSame(components.inline('None', false), { not: {} })
})

t.test('takes schemas of TypeBox, recursive ones too', async (t) => {
  const components = new Components()
  const node = Type.Cyclic(
    { Node: Type.Object({ id: Type.String(), next: Type.Optional(Type.Ref('Node')) }) },
    'Node',
  )
  components.refer('Node', linkReferences(node))
  const text = JSON.stringify(structuredClone(components.toJSON().schemas))
  t.strictSame(JSON.parse(text), {
    Node: { $ref: `${BASE}NodeNode` },
    NodeNode: {
      type: 'object',
      required: ['id'],
      properties: { id: { type: 'string' }, next: { $ref: `${BASE}NodeNode` } },
    },
  })
})

t.test(
  'gives definitions a name that no schema has, and so to what is inside of them',
  async (t) => {
    const components = new Components()
    const leaf = { type: 'object', properties: { size: { type: 'number' } } }
    const tree = {
      definitions: { 'a/leaf': leaf },
      items: { $ref: '#/definitions/a~1leaf/properties/size' },
    }
    components.refer('Tree', linkReferences(tree))
    components.refer('TreeALeaf', { type: 'string' })
    t.strictSame(components.toJSON().schemas, {
      Tree: { items: { $ref: `${BASE}TreeSize` } },
      TreeSize: { type: 'number' },
      TreeALeaf: { type: 'string' },
      TreeALeaf2: leaf,
    })
  },
)
