#!/usr/bin/env node
// What `npx remex` runs. It asks questions only at a terminal, and rejects bad input with one sentence.
import type { Command } from './arguments.ts'
import { DEFAULTS, readArguments, USAGE } from './arguments.ts'
import { migrateApplication } from './migration/migrate.ts'
import { findNameProblem, writeProject } from './new-project.ts'
import { writeService } from './new-service.ts'
import { askAnswers } from './questions.ts'
import { Refusal } from './refusal.ts'
import { VERSION } from './templates.ts'

/** Resolves to what is printed. */
async function run(command: Command): Promise<string> {
  if (command.name === 'help') return USAGE
  if (command.name === 'version') return VERSION
  if (command.name === 'service') return writeService(command.path)
  if (command.name === 'migrate') return migrateApplication(command)
  const { given, isAsking } = command
  // Checked before the first question, not after the last one.
  const problem = given.name === undefined ? undefined : findNameProblem(given.name)
  if (problem !== undefined) throw new Refusal(problem)
  const hasTerminal = process.stdin.isTTY && process.stdout.isTTY
  return writeProject(
    isAsking && hasTerminal ? await askAnswers(given, findNameProblem) : { ...DEFAULTS, ...given },
  )
}

try {
  console.log(await run(readArguments(process.argv.slice(2))))
} catch (error) {
  // System errors, such as a folder without write permission, explain themselves.
  const isForPeople = error instanceof Refusal || (error instanceof Error && 'code' in error)
  if (!isForPeople) throw error
  console.error(error instanceof Refusal ? `${error.message} [${error.errorCode}]` : error.message)
  process.exitCode = 1
}
