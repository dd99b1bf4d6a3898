import ts from 'typescript';

/** The one file that may reach for a driver's irreversible calls (failover 9.1). */
export const EFFECTS_FILE = 'apps/provisioner/src/effects.ts';

/** Calls of a lane that cannot be taken back, and what makes each an effect. */
const IRREVERSIBLE: ReadonlySet<string> = new Set(['create', 'terminate', 'dispatch']);
const MAKERS: ReadonlySet<string> = new Set(['creating', 'terminating', 'dispatching']);
const SENDER = 'send';

export interface LooseEffect {
  readonly path: string;
  readonly line: number;
  readonly what: string;
}

/**
 * Irreversible calls that do not go through `send`, which takes the position of the recorded fact: what was not
 * recorded cannot be sent. A driver's own file may call itself; nobody else may, by whatever name.
 */
export function looseEffectsIn(path: string, text: string): readonly LooseEffect[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
  const found: LooseEffect[] = [];
  const visit = (node: ts.Node): void => {
    const what = looseEffect(node);
    if (what !== null) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      found.push({ path, line: line + 1, what });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function looseEffect(node: ts.Node): string | null {
  if (ts.isPropertyAccessExpression(node) && IRREVERSIBLE.has(node.name.text)) {
    return isLane(node.expression) ? node.getText() : null;
  }
  if (ts.isElementAccessExpression(node) && isLane(node.expression)) return node.getText();
  if (ts.isVariableDeclaration(node) && node.initializer !== undefined && isLane(node.initializer)) {
    return takesApart(node.name) ? node.getText() : null;
  }
  if (ts.isIdentifier(node) && MAKERS.has(node.text) && !isDeclared(node)) {
    return isSent(node) ? null : node.parent.getText();
  }
  return null;
}

function isDeclared({ parent }: ts.Identifier): boolean {
  return ts.isImportSpecifier(parent) || ts.isFunctionDeclaration(parent);
}

/** `const { create } = lane` */
function takesApart(name: ts.BindingName): boolean {
  return (
    ts.isObjectBindingPattern(name) &&
    name.elements.some((element) => IRREVERSIBLE.has((element.propertyName ?? element.name).getText()))
  );
}

/** `lane`, `run.lane(id)`, `this.#lane`, `lanes.get(id)`, `terminalLane`: what is called a lane is one. */
function isLane(node: ts.Expression): boolean {
  if (ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node)) return isLane(node.expression);
  if (ts.isAwaitExpression(node)) return isLane(node.expression);
  if (ts.isCallExpression(node)) {
    const { expression } = node;
    const ofMap = ts.isPropertyAccessExpression(expression) && expression.name.text === 'get';
    return isLane(ofMap ? expression.expression : expression);
  }
  if (ts.isPropertyAccessExpression(node)) return /lanes?$/i.test(node.name.text);
  return ts.isIdentifier(node) && /lanes?$/i.test(node.text);
}

/** `send(recorded, lane, creating(...))`: an effect is made where it is sent, and nowhere kept. */
function isSent(maker: ts.Identifier): boolean {
  const call = maker.parent;
  if (!ts.isCallExpression(call) || call.expression !== maker) return false;
  const sent = call.parent;
  return (
    ts.isCallExpression(sent) &&
    ts.isIdentifier(sent.expression) &&
    sent.expression.text === SENDER &&
    sent.arguments[2] === call
  );
}
