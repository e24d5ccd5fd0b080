@_spi(Engines) import HabitStore
import HabitStoreRollout

/// Two engines between which this kit moves users.
public struct RolloutUnderTest: Sendable, CustomStringConvertible {
    /// The engine that users come from.
    public let old: any EngineProvider
    /// The engine that they move to.
    public let new: any EngineProvider
    private let templates = StageTemplates()

    /// Creates a pair of engines. A stored value, such as a `static let`, brings users to their stages only once for all checks.
    public init(from old: any EngineProvider, to new: any EngineProvider) { (self.old, self.new) = (old, new) }

    /// `OLD to NEW`.
    public var description: String { "\(old.name) to \(new.name)" }

    /// The same engines in the opposite direction.
    public var reversed: RolloutUnderTest { RolloutUnderTest(from: new, to: old) }

    /// Both engines, the old one first.
    var providers: [any EngineProvider] { [old, new] }

    /// The engines' names.
    package var pair: EnginePair { EnginePair(old: old.name, new: new.name) }

    /// A new user without any stores.
    ///
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` if both engines have the same name.
    package func user() throws -> StagedUser { try StagedUser(pair, try Engines(providers)) }

    /// A user who has reached a stage through the gate.
    package func user(at stage: Stage) throws -> StagedUser {
        let user = try user()
        try templates.copy(stage, of: self, to: user)
        try user.want(stage.rawValue)
        return user
    }
}
