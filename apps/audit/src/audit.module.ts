import { type DynamicModule, Module } from '@nestjs/common';
import { AuditController } from './audit.controller.ts';
import { AuditCalls } from './views/audit-calls.ts';

/** Wiring only: the parts are made in server.ts, where their life begins and ends. */
@Module({})
export class AuditModule {
  static with(calls: AuditCalls): DynamicModule {
    return {
      module: AuditModule,
      controllers: [AuditController],
      providers: [{ provide: AuditCalls, useValue: calls }],
    };
  }
}
