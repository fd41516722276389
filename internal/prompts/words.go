package prompts

import "strings"

// Words make text prompts. Each is so common that byte-pair vocabularies hold it, with
// the space before it, as one token; calibration checks that on the server at hand.
var Words = strings.Fields(`
time people way day man thing woman life child world school state family student group
country problem hand part place case week company system program question work government
number night point home water room mother area money story fact month lot right study book
eye job word business issue side kind head house service friend father power hour game line
end member law car city community name president team minute idea body information back
parent face others level office door health person art war history party result change
morning reason research girl guy moment air teacher force education foot boy age policy
process music market sense nation plan college interest death experience effect use class
control care field development role effort rate heart drug show leader light voice wife
police mind price report decision son view relationship town road arm difference value
building action season society tax director position player record paper space ground form
event official matter center couple site project activity star table need court oil
situation cost industry figure street image phone data picture practice piece land product
doctor wall patient worker news test movie north love support technology step baby computer
type attention film tree source organization hair look century evidence window culture
chance brother energy period course summer plant opportunity term letter condition choice
rule daughter south husband floor campaign material population call economy hospital church
risk fire future bank west sport board subject officer rest behavior performance fight top
goal second bed order author blood agency nature color store sound movement page race
concern series language response animal factor decade article east artist scene stock
career treatment approach size song analysis dog library camp`)
