import { testScenarios } from './scenario-tests.ts';

testScenarios('the neighbours of every scenario end as the specification says', 'own.json');
