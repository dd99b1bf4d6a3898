import ts from 'typescript';

export const MAX_LINES = 450;

export type TidyRule =
  | 'too-long'
  | 'any'
  | 'skipped-test'
  | 'environment'
  | 'clock-or-random'
  | 'sleep-in-test';

export interface Untidy {
  readonly rule: TidyRule;
  readonly path: string;
  readonly line: number;
}

/** What a source file breaks of the rules that neither the compiler nor the linter checks. */
export function untidyIn(path: string, text: string): readonly Untidy[] {
  const found: Untidy[] = [];
  const kind = path.endsWith('.tsx') ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind);
  const lines = text.trimEnd().split('\n').length;
  if (lines > MAX_LINES) found.push({ rule: 'too-long', path, line: lines });

  const visit = (node: ts.Node): void => {
    for (const [rule, breaks] of RULES) {
      if (!breaks(node, path)) continue;
      found.push({ rule, path, line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1 });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

type Breaks = (node: ts.Node, path: string) => boolean;

const RULES: readonly (readonly [TidyRule, Breaks])[] = [
  ['any', (node) => node.kind === ts.SyntaxKind.AnyKeyword],
  ['skipped-test', (node, path) => isSpec(path) && isSkippedTest(node)],
  ['environment', (node, path) => !mayReadEnvironment(path) && isEnvironment(node)],
  ['clock-or-random', (node, path) => !mayAskClock(path) && (isClock(node) || isRandom(node))],
  ['sleep-in-test', (node, path) => isSpec(path) && isSleep(node)],
];

const isSpec = (path: string) => path.endsWith('.spec.ts');
const isHarness = (path: string) => /^(tools|test)\//.test(path) || isSpec(path);
const mayReadEnvironment = (path: string) =>
  path === 'libs/platform/src/load-config.ts' || isHarness(path) || !path.includes('/');
/** What platform is to the apps, these two are to the page. */
const OF_THE_PAGE = ['apps/consent/ui/src/clock.ts', 'apps/consent/ui/src/random-id.ts'];
const mayAskClock = (path: string) =>
  path.startsWith('libs/platform/src/') ||
  OF_THE_PAGE.includes(path) ||
  isHarness(path) ||
  !path.includes('/');

const TESTS = ['test', 'it', 'describe', 'suite', 'bench'];

/** `test.skip(...)`, `describe.concurrent.only(...)`, `it.todo(...)`, `xit(...)`: a test that nobody runs is no test. */
function isSkippedTest(node: ts.Node): boolean {
  if (ts.isIdentifier(node)) return ['xit', 'xtest', 'xdescribe', 'fit', 'fdescribe'].includes(node.text);
  if (!ts.isPropertyAccessExpression(node) || !['skip', 'only', 'todo'].includes(node.name.text))
    return false;
  let root: ts.Expression = node.expression;
  while (ts.isPropertyAccessExpression(root) || ts.isCallExpression(root)) root = root.expression;
  return ts.isIdentifier(root) && TESTS.includes(root.text);
}

/** `process.env`, `process['env']`, `const { env } = process`, `import { env } from 'node:process'`. */
function isEnvironment(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node))
    return node.name.text === 'env' && isNamed(node.expression, 'process');
  if (ts.isElementAccessExpression(node)) return isNamed(node.expression, 'process');
  if (ts.isVariableDeclaration(node)) {
    return (
      ts.isObjectBindingPattern(node.name) &&
      node.initializer !== undefined &&
      isNamed(node.initializer, 'process') &&
      node.name.elements.some((element) => isNamed(element.propertyName ?? element.name, 'env'))
    );
  }
  return importsFrom(node, ['node:process', 'process']).includes('env');
}

// A stopwatch (performance.now) is let be outside the rules: it measures waits and knows no date. Inside the
// rules the linter refuses it.
const CLOCKS = new Map([
  ['now', ['Date']],
  ['hrtime', ['process']],
]);

function isClock(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) {
    return CLOCKS.get(node.name.text)?.some((name) => isNamed(node.expression, name)) ?? false;
  }
  return ts.isNewExpression(node) && isNamed(node.expression, 'Date') && (node.arguments?.length ?? 0) === 0;
}

const RANDOM = ['randomBytes', 'randomUUID', 'randomInt', 'randomFillSync', 'randomFill', 'getRandomValues'];

function isRandom(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) {
    if (node.name.text === 'random') return isNamed(node.expression, 'Math');
    return RANDOM.includes(node.name.text) && isNamed(node.expression, 'crypto');
  }
  return importsFrom(node, ['node:crypto', 'crypto']).some((name) => RANDOM.includes(name));
}

/** `new Promise((done) => setTimeout(done, ms))`, or `setTimeout` of node:timers/promises: waiting for nothing in particular. */
function isSleep(node: ts.Node): boolean {
  if (importsFrom(node, ['node:timers/promises', 'timers/promises']).length > 0) return true;
  if (!ts.isCallExpression(node) || !isNamed(node.expression, 'setTimeout')) return false;
  const [callback] = node.arguments;
  if (callback === undefined) return false;
  const executor = ts.findAncestor(
    node,
    (above) =>
      (ts.isArrowFunction(above) || ts.isFunctionExpression(above)) &&
      ts.isNewExpression(above.parent) &&
      isNamed(above.parent.expression, 'Promise'),
  );
  if (executor === undefined || !(ts.isArrowFunction(executor) || ts.isFunctionExpression(executor)))
    return false;
  const settle = executor.parameters[0]?.name.getText();
  return settle !== undefined && settlesOnly(callback, settle);
}

/** The callback is `done` itself or a function that does nothing but call it. */
function settlesOnly(callback: ts.Expression, settle: string): boolean {
  if (isNamed(callback, settle)) return true;
  if (!ts.isArrowFunction(callback) && !ts.isFunctionExpression(callback)) return false;
  const { body } = callback;
  const only = ts.isBlock(body) && body.statements.length === 1 ? body.statements[0] : body;
  const call = only !== undefined && ts.isExpressionStatement(only) ? only.expression : only;
  return call !== undefined && ts.isCallExpression(call) && isNamed(call.expression, settle);
}

function isNamed(node: ts.Node, name: string): boolean {
  return ts.isIdentifier(node) && node.text === name;
}

/** The names that an import declaration takes from one of `modules`; none for any other node. */
function importsFrom(node: ts.Node, modules: readonly string[]): readonly string[] {
  if (!ts.isImportDeclaration(node) || !ts.isStringLiteral(node.moduleSpecifier)) return [];
  const bindings = node.importClause?.namedBindings;
  if (!modules.includes(node.moduleSpecifier.text) || bindings === undefined || !ts.isNamedImports(bindings))
    return [];
  return bindings.elements.map((element) => (element.propertyName ?? element.name).text);
}
