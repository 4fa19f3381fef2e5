#!/usr/bin/env node
import('../dist/cli/main.js').then(
  ({ main }) => main(process.argv),
  (error) => {
    process.stderr.write(
      `boxlab: the command line is not built (${error.message}); run \`npm run build\` in the checkout\n`,
    )
    process.exitCode = 2
  },
)
