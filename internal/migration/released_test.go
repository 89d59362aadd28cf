package migration_test

import (
	"slices"
	"testing"

	"github.com/taskerhq/tasker/internal/migration"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// released are the checksums of migrations that databases have been made by. They
// only ever grow in number: a line is added here with each release.
var released = map[string][]string{
	"postgres": {
		"2392094cccda9065d0f3b0e349a85a24d39020e46f9cf40cc6ba1fcf076e964f",
		"c657a78a920014e76a11986b6b57873fb9d533547ef0e7b151ff9d45b4828b9b",
		"f7ae28dc5103cd75b23566a83e406501d41462c78b8e6beb4412adcf4944f642",
		"fffb6a01bd450b23e362dd7bf4c2769b3111d6bdf5648d42d7260b72c4bdb43f",
		"45e4199ac644af7e4067123f32a3ca7a3c29020c8a0c56d2d49f1c20d8eb5258",
		"9bfc91ac051f28b9330593b857d2373bbd5150abd52678fd81b5d369678b54a2",
		"ee4acad338d2afb4724a3043b9787cec8f4339572807e901ac85529bcabe07c7",
		"37dba5682971306bcfcec231e0e890d565c71ab252e1417d2922d7dcebbec045",
		"05fba65826861a783f1ab346155919279b04e835466ac87b20872610f7b399b6",
		"38cf5d58d2f2a9df8e13deba6240a0718fa06982e07a15409ce9b241512aaa7a",
		"4992c46fd9e21b131244ea7ff92190b018286c5fa978edcf7c35ee1d636c5c02",
		"e9ac2f39322a75414ab6d2657c26a23e5c3cbc7d5aa597eef231bf4c8f59ac2c",
		"566d6bba235b12f1dff9a323763c6598023dbb448ff7d9c13b3a8642e463c0a8",
		"4d1456f003f713dad49ce820cf264e20f9782a995b321080c8813d48e5c6255c",
		"a7f6838f7be9ecceed6680a38750dc27dad9a5902f8d1ec7360827efb5620e20",
		"724373b09c0ebd0b23d19598a5d3193f74e28eb23df141ad29b42b9bf908924e",
		"1e1df399c43c8080a5de72c8311955573d5fdd68f15b9fc752dc19f76e53f37d",
		"4beb569b289da6fe55b89470e0ffc7b99b39709929751ce68bb73f3fdc311f71",
		"68bbe590e972301ab72e020b7b83bbe78e287f1a0021d438472006f822cc5d83",
		"aa5a6d063828b3e70417148a41265f8198c9dcc97d53479ed76cac25a79b7ca1",
		"41b1cf6616106f8c6966ccc6ce7ffd1f22b41a0e502aa22e93dab4ef6a591764",
		"973f006ab9f97e387bd331385b534ba69517d253a722044744687ee0d1d738f3",
		"52ea3bf505f4336367aba0c1bc37159b054c9842d03f4431b4f0195a70fa1587",
		"40c5138d07eb430dcb89e4151e6affe26e688e7d7e2ca108046478a6b114ebd1",
		"fcbbd2986720d2dab5e2e6246ef832dfff710c2e38468b4e2e7abf3be8f3b27b",
		"8b63ed72fea17d5b0313106128fef3d88beac4e0fae8223861a5d7b6ed3a472f",
		"da4d87dcaa06b38de5e2525b0dfcdaeb45ee2b4436bfbe4feadb74dbf5b369a7",
		"cd5403cb61553ac05eac12cc4b76e1082c52cacdd7b02faeca68b6e7206a64f5",
		"34b5dc42bba2a99dc818f8eb3c881bb34f2ee6b3d905ed40614dc51e5bcd5c57",
		"cc7613838e66b03be794ce2bcd4cef205f57965468696bd39ce09050f0dc4ad7",
		"201092954071185aae8535e8b4c6759021b86461d5dc5a75668cecf27fd19bd6",
		"8698d0945d7631d926a737001e31130891962f15556bb5d42979f7e1ad5f0c8b",
		"1a245007aa78f6c788ce0ecca5738d90fe219b02c3d673ac049d81cd58d78cab",
		"cc5e437d262d1b9542379ce8233c9d6b456a0ca155c579138588545cee0c2ae8",
		"79c95fdb77e98d65cf45415ad69e57eaf6d90a25b20fa043738a2e2291030aae",
		"408f3a22d0b342e54e9cec28f13374d1500aee1b0527e1472407f017c636488a",
		"736c13702e59fc87740d8f52645b194710fe5eb10c1251c6b155f400b598e013",
		"f52aef42e698c633077d1bfdbf049a451a9e89c7aeabe01dfed830a8227b8f56",
		"d1bdf9311dfc5e0c706336e6031545006d83e8dfa7b1f194f7c4b2f10b08cc73",
		"90ce4ce575c8da9e5d2c1ae8ede40841812e01bdb4de72877e81c4f40a9ad43e",
		"62ba0b4196804e2bd14bcc818e68dd20a25d17a64a20fd39cc72d41b26c08baf",
	},
	"sqlite": {
		"b459a38f37a2ca450cca8b43b9b6e2357dcef86781e9928861a3ca7c05a32a0d",
		"917cf620f3a4d378829488a6c33055b7a13c88fb2a694545f3e1910d7f61bbcb",
		"728a2cee69a221ef01a6d750353873d048cac22dc7bc6d8fde7bf64f6e5640f7",
		"71657ad0b906407814fab12664db3499ece832ff885940e65173ab4b57669e39",
		"de476a06da31e5668439e7489c61d44c8e51ce09d3cafa887237764597cb8b64",
		"569b75a7918902d1856b106fd27c06f3a6b71e77fdafadce401235059a2866b9",
		"347a8c99a8e5a0687f6e499fe7655e5f04b9b64200a22bee6a78fdd2abce11da",
		"2ca661f04a645cb01e1864c9fcf3f2da8969ae128e37cb54876ccdd76e515715",
		"3adc2527cfe6e0cb0a0d08eaafa0f423ae4f875362342e2d7ef8b4e6e2344293",
		"b348b664ca378f09a4d907bc42dfce3a95f70f017973c8f54c6253b28a07dd29",
		"c025dd1354bcb920088cca83e60ccf1b547c819230973bf6f6b2478bb6e48768",
		"724373b09c0ebd0b23d19598a5d3193f74e28eb23df141ad29b42b9bf908924e",
		"1e1df399c43c8080a5de72c8311955573d5fdd68f15b9fc752dc19f76e53f37d",
		"6d16b7a009c9f5d45f62904f8f2783dd509f44bcb1319c6828a8ed39653948e3",
		"77393a8237e26a2a8178cf6cbe1ddeb127419e9751d31fd4afde2349277e3fc4",
		"cf0ca4c4c0de33c360a5de9fb3ca31b424f4c45d8a07c372f43cb13d2d9da708",
		"9ce276d7d4bb86f3bcd93126d5da89477714c46bdd7f81be990d656e93634739",
		"785a9ff77e68e9c809b0818f2b818294c9e3b91bb05f7b25b7bcc29ae1addddd",
		"aa540e47be2eac2cff15ad8276e15c592f006125f7c8083fc8ee515a41e96c28",
		"b33aba69ed671b1af2b05c0030a923acffa3e20b4d3e2638711aee600964084b",
		"30808a4b9624d725659160a5748011e076ea20b655cefecb175ea5bdb7f8ae05",
		"afa4e5f807e4e5a6722e033e06274d50edd584a684e7f2bd7a39f5c4437f1a1c",
		"9dc37396e3635d92b112de39495b51ffa34390756d507f0e13bab4c83f4766e7",
		"92dc0284442c04f92600b35c443b5dcc3f8a74de1f94e5eb6d50005d5b0cb349",
		"33eab6b755c6236b913ef12ec9b566477f7bdaf74546af33cb21885a724a0a06",
		"61544cb75ef530f5c2bd2d0a2dfc62a2165494daa8087fe211005b7f2ba00bed",
		"99e4c0e0bf4f0271cf1d60dc7e4ba1f329c382bd8c4c538ba8d13691e61f7069",
		"199fde6e9b6775b22649715fd1f332a6e531e549c6ede71c7cdcfb579e297070",
		"ab9f1f6b37a693f3f9044e17a4df3f20a5217bbe228325d98b858e53cc16d3ce",
		"b1aee94cf913aa9cf9a9d7eb621d34aa1900891ad651fef7b29d75364a043c1e",
		"2ce33b744ba15c6aa99c948d5b88b2c1fbc948c49b013d00e5ae4c2c24dd7459",
		"12d5eb4e10ad2ad8edc11a62a0dce9bf485213ced2977c7f7567f6c994a2fa4e",
		"7d27f799437bfb6371026f2b6aca11823fb10b4d1ef28312bc70e29420551625",
		"41ee46379a4f33e005f5f303d25fca5c550d73c1b703dc0d07f4b5edc1ded7f8",
		"8feb17678c2048b79164fc3a461fd585f110b9f7824365308ec44228e7650be6",
		"cc4b28a4c6025160751ecbdbd08807cf1735a93ab357c3354a6fbef176db9bc1",
		"28aa3d63715c33503b4a558c17949bb3782de9e8a8fd654bc0153cd59bf791ad",
		"0ccc642ca1e9fa5bb56965cae6d422d6e87ff543298dd06ecf59698ab0d7fece",
	},
}

// TestReleasedMigrations: what databases have been made by never changes, down to
// a comment. A binary in which it has refuses all of them.
func TestReleasedMigrations(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]migration.File{"postgres": shipped(t, postgres.Migrations),
		"sqlite": shipped(t, sqlite.Migrations)} {
		sums := released[name]
		if len(files) < len(sums) {
			t.Fatalf("%s: %d migrations were released, and there are %d", name, len(sums), len(files))
		}
		for i, sum := range sums {
			if f := files[i]; f.SHA256 != sum {
				t.Errorf(
					"%s: %s was released and has changed (its checksum is %s): undo that, and write a migration that follows it", name,
					f.Name, f.SHA256)
			}
		}
		// only the newest may still be in the making
		for _, f := range files[len(sums):max(len(files)-1, len(sums))] {
			t.Errorf("%s: %s has a follower, but its checksum %s is not in the list of what was released", name, f.Name,
				f.SHA256)
		}
		if sorted := slices.Compact(slices.Sorted(slices.Values(sums))); len(sorted) != len(sums) {
			t.Errorf("%s: a checksum is listed twice", name)
		}
	}
}
