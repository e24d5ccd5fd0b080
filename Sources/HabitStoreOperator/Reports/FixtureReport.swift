import HabitStoreRollout

/// The verification of a folder of fixtures as JSON.
struct FixtureReport: Encodable {
    let formatVersion = 1
    let passed: Bool
    let fixtures: [FixtureVerification.Result]
}
