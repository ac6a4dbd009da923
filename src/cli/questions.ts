import type { ProjectAnswers } from './arguments.ts'
import { DEFAULTS } from './arguments.ts'
import { Refusal } from './refusal.ts'

/**
 * Asks at the terminal for what was not given.
 * @param findProblem returns what is wrong with a name
 * @throws {Refusal} the questions were broken off
 */
export async function askAnswers(
  given: Partial<ProjectAnswers>,
  findProblem: (name: string) => string | undefined,
): Promise<ProjectAnswers> {
  // Here, since most runs ask nothing.
  const { confirm, isCancel, select, text } = await import('@clack/prompts')
  const check = <T>(answer: T): Exclude<T, symbol> => {
    if (isCancel(answer)) throw new Refusal('Nothing has been written.')
    return answer as Exclude<T, symbol>
  }

  const name =
    given.name ??
    check(
      await text({
        message: 'Name of the project and of its folder',
        placeholder: DEFAULTS.name,
        defaultValue: DEFAULTS.name,
        validate: (value) => findProblem(value || DEFAULTS.name),
      }),
    )
  const database =
    given.database ??
    check(
      await select({
        message: 'Database',
        initialValue: DEFAULTS.database,
        options: [
          { value: 'embedded', label: 'Embedded', hint: 'in the process, to begin without Docker' },
          { value: 'mongodb', label: 'MongoDB', hint: 'by the compose file, or your own' },
        ],
      }),
    )
  const logins =
    given.logins ?? check(await confirm({ message: 'Logins?', initialValue: DEFAULTS.logins }))
  if (!logins) return { name, database, logins, oauth: 'none' }
  const oauth =
    given.oauth ??
    (check(await confirm({ message: 'Logins with GitHub too?', initialValue: false }))
      ? 'github'
      : 'none')
  return { name, database, logins, oauth }
}
