import Testing
import TripsSample

@testable @_spi(Engines) import HabitStore

/// `@Model` makes the models. Their stored schema is the same as that of the earlier hand-written models.
struct TripShapeTests {
    @Test func theStoredShapeIsThatOfTheModelsThatWereWrittenOut() {
        let schema = TripSchema.current
        #expect(schema.storedText == Self.written)
        #expect(
            schema.entities.indices.map(schema.shapeHash) == [
                "194c2f01828db234", "507c757314ec4b70", "0a29855d7d7814f4",
            ]
        )
    }

    private static let written = #"""
        {"entities":[{"attributes":[{"kind":"uuid","name":"id","preserved":true,"unique":true},{"kind":"string","name":"name",\#
        "preserved":true},{"kind":"string","name":"destination"},{"kind":"date","name":"startDate","preserved":true},\#
        {"kind":"date","name":"endDate","preserved":true},{"default":{"string":"plain"},"kind":"string","name":"kind"},\#
        {"kind":"string","name":"reason","optional":true},{"kind":"double","name":"perdiem","optional":true}],\#
        "indexes":[{"attributes":["name"]},{"attributes":["startDate"]},{"attributes":["endDate"]},{"attributes":["name",\#
        "startDate","endDate"]},{"attributes":["kind","startDate"]}],"name":"Trip","relationships":[{"deleteRule":"cascade",\#
        "destination":"BucketListItem","inverse":"trip","kind":"toMany","name":"bucketList"},{"deleteRule":"cascade",\#
        "destination":"LivingAccommodation","inverse":"trip","kind":"toMany","name":"accommodations"}],"uniqueness":[["name",\#
        "startDate","endDate"]]},{"attributes":[{"kind":"uuid","name":"id","preserved":true,"unique":true},{"kind":"string",\#
        "name":"title"},{"kind":"string","name":"details"},{"kind":"bool","name":"hasReservation"},{"kind":"bool",\#
        "name":"isInPlan"},{"kind":"uuid","name":"tripID","optional":true}],"indexes":[{"attributes":["tripID"]}],\#
        "name":"BucketListItem","relationships":[{"attribute":"tripID","deleteRule":"nullify","destination":"Trip",\#
        "inverse":"bucketList","kind":"toOne","name":"trip"}]},{"attributes":[{"kind":"uuid","name":"id","preserved":true,\#
        "unique":true},{"kind":"string","name":"placeName"},{"kind":"string","name":"address"},{"kind":"bool",\#
        "name":"isConfirmed"},{"kind":"uuid","name":"tripID","optional":true,"preserved":true,"unique":true}],\#
        "indexes":[{"attributes":["tripID"]}],"name":"LivingAccommodation","relationships":[{"attribute":"tripID",\#
        "deleteRule":"nullify","destination":"Trip","inverse":"accommodations","kind":"toOne","name":"trip"}]}],\#
        "version":"1.0.0"}
        """#
}
