import { createInterface } from 'node:readline/promises'
import type { ProjectAnswers } from './arguments.ts'
import { DEFAULTS } from './arguments.ts'
import { Refusal } from './refusal.ts'

const DATABASE: Readonly<Record<ProjectAnswers['database'], string>> = {
  embedded: 'inside the server process, needs no Docker',
  mongodb: 'from the compose file, or your own server',
}

const PROVIDER: Readonly<Record<ProjectAnswers['oauth'], string>> = {
  none: 'only email and password',
  github: 'also with GitHub',
}

/**
 * Asks at the terminal for what was not given, line by line, so that it works with screen readers.
 * @param findProblem returns what is wrong with a name
 * @throws {Refusal} the user cancelled the questions
 */
export async function askAnswers(
  given: Partial<ProjectAnswers>,
  findProblem: (name: string) => string | undefined,
): Promise<ProjectAnswers> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  // Keeps lines typed or pasted before their question; ends with Ctrl-C or Ctrl-D.
  const lines = terminal[Symbol.asyncIterator]()

  /** Asks until `read` accepts the answer. @throws {Refusal} the user cancelled the questions */
  async function ask<T>(question: string, read: (answer: string) => T): Promise<T> {
    while (true) {
      terminal.setPrompt(`${question}: `)
      terminal.prompt()
      const { done, value } = await lines.next()
      if (done) throw new Refusal('\nNothing has been written.', 'CANCELLED')
      try {
        return read(value.trim())
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        console.log(error.message)
      }
    }
  }

  const askName = () =>
    ask(`Name of the project and its folder (${DEFAULTS.name})`, (answer) => {
      const name = answer || DEFAULTS.name
      const problem = findProblem(name)
      if (problem !== undefined) throw new Refusal(problem)
      return name
    })

  const choose = <T extends string>(question: string, choices: Readonly<Record<T, string>>) => {
    const names = Object.keys(choices) as T[]
    console.log(question)
    for (const [index, name] of names.entries()) {
      console.log(`  ${index + 1}  ${name}: ${choices[name]}`)
    }
    return ask(`1 to ${names.length} (1)`, (answer) => {
      const found = names.find((name, index) => [`${index + 1}`, name].includes(answer || '1'))
      if (found === undefined) throw new Refusal(`Enter ${names.join(' or ')}, or its number.`)
      return found
    })
  }

  const askLogins = () =>
    ask('Logins? Yes or no (yes)', (answer) => {
      const found = /^(?:(y|yes|)|n|no)$/i.exec(answer)
      if (found === null) throw new Refusal('Enter yes or no.')
      return found[1] !== undefined
    })

  try {
    const name = given.name ?? (await askName())
    const database = given.database ?? (await choose('Database', DATABASE))
    const logins = given.logins ?? (await askLogins())
    const askProvider = async () =>
      logins ? choose('Logins with other providers', PROVIDER) : 'none'
    const oauth = given.oauth ?? (await askProvider())
    return { name, database, logins, oauth }
  } finally {
    terminal.close()
  }
}
