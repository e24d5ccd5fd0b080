@_spi(Engines) import HabitStore
import HabitStoreRollout
import StandardEngines
import Synchronization

/// What the process's ``RolloutCommand`` has declared, read once.
package struct Tool: Sendable {
    /// The command.
    let command: any RolloutCommand.Type
    /// Its name.
    package let name: String
    /// The schema that users' stores have.
    package let schema: Schema
    /// What brings stores of older versions to it.
    package let plan: (any SchemaMigrationPlan.Type)?
    /// The engines that users may be on where no servers are named.
    let engines: Engines
    /// Those, and stores on whatever server an address names.
    let known: Engines
    /// How engines are made of servers.
    let servers: ServerEngines?

    private static let declared = Mutex<Tool?>(nil)

    /// The process's.
    package static var current: Tool { declared.withLock { $0 } ?? .undeclared }

    /// Says which command the process is: once, before arguments are read.
    ///
    /// - Throws: what is wrong with what it declares.
    static func become(_ command: any RolloutCommand.Type) throws {
        OperatorCommand.name = command.name
        let tool = try Tool(declaredBy: command)
        declared.withLock { $0 = tool }
    }

    init(declaredBy command: any RolloutCommand.Type) throws {
        (self.command, name, plan, servers) = (command, command.name, command.plan, command.servers)
        schema = try command.schema
        engines = try command.engines
        known = try servers.map { [engines] in try Engines(engines.providers + [$0.anywhere()]) } ?? engines
        guard let last = try plan?.current().version, last != schema.version else { return }
        throw HabitStoreError(
            .schemaMismatch,
            "\(command) has the schema version \(schema.version), and its plan ends at version \(last); they have to be the same"
        )
    }
}

/// The tool of a process without such a command, as of tests of a single part: it knows no schema.
extension Tool {
    private struct Undeclared: RolloutCommand {
        static let name = "habitstore"
        static let schema = Schema(shapes: [])
    }

    private static let undeclared = Tool(
        command: Undeclared.self,
        name: Undeclared.name,
        schema: Undeclared.schema,
        plan: Undeclared.plan,
        engines: .standard,
        known: .standard,
        servers: nil
    )

    private init(
        command: any RolloutCommand.Type,
        name: String,
        schema: Schema,
        plan: (any SchemaMigrationPlan.Type)?,
        engines: Engines,
        known: Engines,
        servers: ServerEngines?
    ) {
        (self.command, self.name, self.schema, self.plan) = (command, name, schema, plan)
        (self.engines, self.known, self.servers) = (engines, known, servers)
    }
}
