-- cmsjob1.eyJraW5kIjoia2V5d29yZF9hbmFseXNpcyIsInRhcmdldCI6Imt3ZF8wMWh4ZHpnNDhoNmd3ZjN2MzU2cnZ0NXllOCIsImpvYiI6bnVsbCwibGF1bmNoZWQiOiIyMDI2LTAxLTAxVDAwOjAwOjAwLjAwNDIwNiswMDowMCIsIndhdGNoZWQiOmZhbHNlLCJhdCI6Imh0dHBzOi8vYXBpLmV4YW1wbGUuY29tIn0.f553e080308a
-- cmsjob1.eyJraW5kIjoiZ2VuZXJhdGlvbiIsInRhcmdldCI6ImNudF8wMWh4NTFidnd5djM1a2F5M2Eza3oxeHo2aiIsImpvYiI6Imdlbl8wMWh4c2NzNmNrNGF2ZXdmNDV5aGZyamI5bSIsImxhdW5jaGVkIjoiMjAyNi0wMS0wMVQwMDowMDowMC4wMTQ1MDYrMDA6MDAiLCJ3YXRjaGVkIjpmYWxzZSwiYXQiOiJodHRwczovL2FwaS5leGFtcGxlLmNvbSJ9.21b892cac4cb
PRAGMA application_id = 1668117313;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE documents (scope TEXT, name TEXT, text TEXT NOT NULL, PRIMARY KEY (scope, name)) WITHOUT ROWID;
INSERT INTO "documents" VALUES('','epoch','68f381a19c34f4839282d238a5f0acaa');
INSERT INTO "documents" VALUES('137b9e5e4e13211c','durations keyword_analysis','{"0 1":2}');
INSERT INTO "documents" VALUES('d20341cb8332a1198382c45ba96a0da1','salt','"ebc3bc0590e10b9b791a4ddc12645b21"');
CREATE TABLE journal (scope TEXT, key TEXT, lease TEXT, owner TEXT, entry TEXT NOT NULL, PRIMARY KEY (scope, key))
    WITHOUT ROWID;
INSERT INTO "journal" VALUES('d20341cb8332a1198382c45ba96a0da1','generation cnt_01hx51bvwyv35kay3a3kz1xz6j',NULL,NULL,'{"asked_at":1795411497.36397,"facts":{"balance":10000,"baseline":null,"mark":"2b0a90c2:1","sent":1,"sent_at":1795411497.3656952,"settle":90.0},"job_id":"gen_01hxscs6ck4avewf45yhfrjb9m","kind":"generation","served_at":1767225600.014506,"settings":"54e29eeb18e4d06b448d74887720bce2","status":"running","target":"cnt_01hx51bvwyv35kay3a3kz1xz6j"}');
INSERT INTO "journal" VALUES('d20341cb8332a1198382c45ba96a0da1','keyword_analysis kwd_01hxdzg48h6gwf3v356rvt5ye8',NULL,NULL,'{"asked_at":1795411497.3524432,"facts":{"balance":9998,"mark":"2b0a90c2:1","sent":1,"sent_at":1795411497.3553987,"settle":90.0},"kind":"keyword_analysis","served_at":1767225600.004206,"status":"running","target":"kwd_01hxdzg48h6gwf3v356rvt5ye8"}');
CREATE TABLE limits (account TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "limits" VALUES('e7d2237b37a9c0277ea85986b1566bc4','{"format":1,"epoch":1795411496810,"time":1795411497.372803,"ahead":0.0,"settled":11,"left":0,"log":[1795411496813,1,28,1,2,1,201,1,1,1,203,2,104,1,8,1,6,1,6,1],"known":true,"limit":1000,"foreign":[0,null,null],"tries_at":1795415098.37102,"tries_every":3601.0,"rests_until":null,"holders":{"69fa82ad114cadf0":[8,1795411502.322964,0,0,0,1795411497.322964,0,1795411498.245991],"d42b3cbcd4aa6d8b":[5,1795411502.372803,0,0,0,1795411497.372803,0,1795411498.365477]}}');
CREATE TABLE outcomes (scope TEXT, batch TEXT, item TEXT, entry TEXT NOT NULL, PRIMARY KEY (scope, batch, item))
    WITHOUT ROWID;
INSERT INTO "outcomes" VALUES('d20341cb8332a1198382c45ba96a0da1','nightly','kwd_01hxgrx906re49az2231vsmrpn','{"asked_at":1795411496.8349247,"batch":"nightly","ended_at":1795411497.2476606,"facts":{"balance":10000,"mark":"b7c8050a:1","sent":1,"sent_at":1795411496.8385587,"settle":90.0},"item":"kwd_01hxgrx906re49az2231vsmrpn","kind":"keyword_analysis","served_at":1767225600.026234,"status":"succeeded","target":"kwd_01hxgrx906re49az2231vsmrpn"}');
INSERT INTO "outcomes" VALUES('d20341cb8332a1198382c45ba96a0da1','nightly','kwd_01hxn74jkf9m6g3gpxndj4htjc','{"asked_at":1795411496.837107,"batch":"nightly","ended_at":1795411497.2478456,"facts":{"balance":10000,"mark":"b7c8050a:1","sent":1,"sent_at":1795411496.8411646,"settle":90.0},"item":"kwd_01hxn74jkf9m6g3gpxndj4htjc","kind":"keyword_analysis","served_at":1767225600.028836,"status":"failed","target":"kwd_01hxn74jkf9m6g3gpxndj4htjc"}');
CREATE TABLE owners (scope TEXT, id TEXT, owner TEXT NOT NULL, until REAL NOT NULL, PRIMARY KEY (scope, id))
    WITHOUT ROWID;
COMMIT;
