import { type DynamicModule, Module } from '@nestjs/common';
import { Provisioner } from './provisioner.ts';
import { ProvisionerHandlers } from './provisioner-handlers.ts';

/** Wiring only: the parts are made in main.ts, where their life begins and ends. */
@Module({})
export class ProvisionerModule {
  static with(provisioner: Provisioner): DynamicModule {
    return {
      module: ProvisionerModule,
      controllers: [ProvisionerHandlers],
      providers: [{ provide: Provisioner, useValue: provisioner }],
    };
  }
}
