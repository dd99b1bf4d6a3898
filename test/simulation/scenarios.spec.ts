import { testScenarios } from './scenario-tests.ts';

testScenarios('every scenario ends as it must, in every order of what happens together', 'scenarios.json');
