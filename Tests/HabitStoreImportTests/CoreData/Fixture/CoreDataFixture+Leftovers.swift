import Foundation

extension CoreDataFixture {
    /// Adds the traces of manual edits: a column and a table that the model does not know, rows of no entity, links that lead from nowhere, values of
    /// other
    /// types, and CloudKit's bookkeeping.
    func writeLeftovers() throws {
        try sql(
            """
            ALTER TABLE ZPAGE ADD COLUMN ZFORGOTTEN VARCHAR;
            UPDATE ZPAGE SET ZFORGOTTEN = 'page ' || Z_PK;
            INSERT INTO ZTAG VALUES (8, 77, 1, 'of no entity');
            INSERT INTO Z_1TAGS VALUES (55, 1);
            UPDATE ZPAGE SET ZNUMBER = 'ten' WHERE Z_PK = 5;
            INSERT INTO ZTAG VALUES (3, 5, 1, CAST(x'66c3' AS TEXT));
            CREATE TABLE ANSCKEVENT (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZUUID BLOB);
            INSERT INTO ANSCKEVENT VALUES (1, 16010, 1, x'01'), (2, 16010, 1, x'02');
            CREATE TABLE notes (day TEXT, words TEXT);
            INSERT INTO notes VALUES ('2026-01-01', 'kept by hand');
            """
        )
    }
}
