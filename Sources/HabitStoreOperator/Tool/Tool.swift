@_spi(Engines) import HabitStore
import HabitStoreRollout
import StandardEngines
import Synchronization

/// The declarations of the process's ``RolloutCommand``, read once.
package struct Tool: Sendable {
    let command: any RolloutCommand.Type
    /// The command's name.
    package let name: String
    /// The schema of users' stores.
    package let schema: Schema
    /// The plan that migrates older stores to it.
    package let plan: (any SchemaMigrationPlan.Type)?
    /// The engines that users may be on if no servers are named.
    let engines: Engines
    /// The same engines, and the one for stores on the server that an address names.
    let known: Engines
    /// Makes the engines of servers.
    let servers: ServerEngines?

    private static let declared = Mutex<Tool?>(nil)

    /// The tool of this process.
    package static var current: Tool { declared.withLock { $0 } ?? .undeclared }

    /// Declares which command the process is; called once, before arguments are read.
    ///
    /// - Throws: an error in the command's declarations.
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
