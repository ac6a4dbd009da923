import { connect } from 'node:net'

/** What came back for one request line. */
export interface LineAnswer {
  readonly status: number
  readonly body: string
}

/**
 * Sends requests without bodies over one connection, their targets as they are, which clients of
 * HTTP would correct. Resolves to the answers in the same order.
 */
export async function sendLines(port: number, lines: readonly string[]): Promise<LineAnswer[]> {
  const requests = lines.map((line, index) => {
    const last = index === lines.length - 1 ? 'Connection: close\r\n' : ''
    return `${line} HTTP/1.1\r\nHost: a\r\n${last}\r\n`
  })
  const text = await exchange(port, requests.join(''))
  const answers = readAnswers(text)
  if (answers.length !== lines.length) {
    throw new Error(`${answers.length} answers, the last one to ${lines[answers.length - 1]}`)
  }
  return answers
}

function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
    socket.write(text)
  })
}

function readAnswers(text: string): LineAnswer[] {
  const answers: LineAnswer[] = []
  let at = 0
  while (at < text.length) {
    const end = text.indexOf('\r\n\r\n', at)
    if (end === -1) break
    const head = text.slice(at, end)
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    at = end + 4 + length
    answers.push({
      status: Number(head.split(' ')[1]),
      body: Buffer.from(text.slice(end + 4, at), 'latin1').toString(),
    })
  }
  return answers
}
