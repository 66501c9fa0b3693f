-- Globs of the regions where the requests of a key may be processed, as a JSON array; null: anywhere.
alter table api_key add column regions text;

-- engine: sqlite
create trigger api_key_regions_change after update of regions on api_key
begin
  update key_changes set version = version + 1;
end;

-- engine: postgres
create constraint trigger api_key_regions_change after update of regions on api_key
  deferrable initially deferred for each row execute function count_key_change();
